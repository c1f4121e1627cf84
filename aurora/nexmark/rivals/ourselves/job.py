"""Runs one query on this engine, in a process of its own."""

import json
import sys
from pathlib import Path

from aurora.nexmark.rivals.system import REPORT
from aurora.nexmark.run import run_query

__all__ = ["main"]


def main() -> None:
    """Carries out the JSON on the command line."""
    work = json.loads(sys.argv[1])
    measured = run_query(
        work["query"],
        Path(work["data"]),
        Path(work["out"]),
        profile=work["profile"],
        lateness=work["lateness"] / 1000,
        dollars_to_euros=work["dollars_to_euros"],
        master=f"local[{work['cores']}]",
        partitions=work["cores"],
    )
    print(REPORT + json.dumps({"job": measured.report.seconds}), flush=True)


if __name__ == "__main__":
    main()
