"""The command `aurora`."""

import atexit
import signal
import sys


def main() -> None:
    """Runs a command; a fault the user can mend is one line on stderr and status 1, an interrupt status 130.

    A command that is not called as it should be is one line, too, and status 2.
    """
    try:
        # Loaded here, because Ctrl-C may come while it is.
        from aurora.cli.commands import Interrupted, Misused, app, tell_misuse
        from aurora.errors import AuroraError

        try:
            status = app(standalone_mode=False, prog_name="aurora")
            sys.exit(status if isinstance(status, int) else 0)
        except AuroraError as fault:
            print(f"error: {fault}", file=sys.stderr)
            sys.exit(1)
        except Misused as fault:
            print(tell_misuse(fault), file=sys.stderr)
            sys.exit(fault.exit_code)
        except Interrupted:
            raise KeyboardInterrupt from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    finally:
        # All that is left then is to end: another Ctrl-C would only change the status.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
