"""`make bench`: every speed, table by table. `python -m benchmarks operators 0.1` for a quick look at one."""

import sys

from benchmarks import batch, capacity, history, operators, state, statistics, stored, trains

TABLES = {
    "batch": batch.main,
    "operators": operators.main,
    "trains": trains.main,
    "state": state.main,
    "statistics": statistics.main,
    "history": history.main,
    "stored": stored.main,
    "capacity": capacity.main,
}


def main() -> None:
    chosen = sys.argv[1] if len(sys.argv) > 1 else None
    scale = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    for name, table in TABLES.items():
        if chosen in (None, name):
            table(scale)


main()
