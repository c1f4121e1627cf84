"""The command `aurora`."""

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
        from aurora.cli.interrupts import stop_at_once

        stop_at_once()
        print("stopped", file=sys.stderr)
        sys.exit(130)
