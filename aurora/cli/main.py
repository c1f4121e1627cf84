"""The command `aurora`."""

import atexit
import signal
import sys


def main() -> None:
    """Runs a command; a fault the user can mend is one line on stderr and status 1, an interrupt status 130."""
    try:
        # Loaded here, because Ctrl-C may come while it is.
        from aurora.cli.commands import Interrupted, app
        from aurora.errors import AuroraError

        try:
            app(standalone_mode=True)
        except AuroraError as fault:
            print(f"error: {fault}", file=sys.stderr)
            sys.exit(1)
        except Interrupted:
            raise KeyboardInterrupt from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    finally:
        # All that is left then is to end: another Ctrl-C would only change the status.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
