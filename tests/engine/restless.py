"""A run whose boxes change places after every batch. `python -m tests.engine.restless FOLDER` is one to be killed."""

import sys
from pathlib import Path

from aurora import Network, Settings
from aurora.engine.controls import Rewrites
from aurora.engine.plan.plan import Plan
from aurora.engine.spark_run import start_run
from aurora.engine.statistics import BatchReport, Change
from tests.engine.chains import network_of

__all__ = ["ORDERS", "Restless", "network", "run_restless", "write_rows"]

# A chain where tuples are read, a state, and a chain behind it in a stage of its own.
BOXES = """
  up: {map: {g: g, T: T, v: v, w: "upper(w)"}, from: r}
  odd: {filter: ["v % 2 = 1"], from: up}
  few: {filter: ["T % 3 = 0", "T % 3 = 1"], from: odd.rest}
  sorted: {bsort: {}, from: few.2, order: {on: T, slack: 2, group_by: [g]}}
  more: {map: {g: g, T: T, u: "v + 1"}, from: sorted}
  some: {filter: ["u > 3"], from: more}
  z: {aggregate: {s: sum(u)}, from: some, order: {on: T, slack: 3, group_by: [g]}, size: 4}"""
# Behind `few` is what leaves out the field that no box with state looks at.
ORDERS: list[Rewrites] = [
    (),
    (("few", "odd", "up", "few:2"), ("some", "more")),
    (("odd", "up", "few", "few:2"),),
    (("up", "odd", "few", "few:2"), ("more", "some")),
    (("some", "more"), ("odd", "few", "up", "few:2")),
]


class Restless:
    """Asks for another order after each batch."""

    def __init__(self, plan: Plan) -> None:
        self.changes: tuple[Change, ...] = ()

    def advise(self, report: BatchReport) -> Rewrites:
        self.changes = (*self.changes, Change(report.batch, "another order", "restless"))
        return ORDERS[(report.batch + 1) % len(ORDERS)]


def network() -> Network:
    return network_of(BOXES).checked()


def write_rows(folder: Path, count: int) -> dict[str, str]:
    """The sources of the network, as files in a folder."""
    rows = (f"{i % 3},{i // 2 + i % 3},{i * 7 % 11},{'abc'[i % 3]}\n" for i in range(count))
    (folder / "rows.csv").write_text("".join(rows))
    (folder / "none.csv").write_text("g,name\n")
    return {"r": f"csv:{folder}/rows.csv", "table": f"csv:{folder}/none.csv"}


def run_restless(folder: Path) -> None:
    """On the rows of a folder, from its checkpoint on."""
    sources = {"r": f"csv:{folder}/rows.csv", "table": f"csv:{folder}/none.csv"}
    settings = Settings(batch=10, partitions=2, checkpoint=f"{folder}/checkpoint")
    with start_run(network(), sources, {"out": f"csv:{folder}/out.csv"}, settings, adviser=Restless) as run:
        run.wait()


if __name__ == "__main__":
    run_restless(Path(sys.argv[1]))
