"""The command `aurora`."""

import atexit
import signal
import sys


def main() -> None:
    """Runs a command; docs/exit-codes.md says with which status it ends."""
    try:
        # Loaded here, because Ctrl-C may come while it is.
        from aurora.cli.commands import call
        from aurora.cli.telling import listen

        with listen():
            sys.exit(call())
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    finally:
        # All that is left then is to end: another Ctrl-C would only change the status.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
