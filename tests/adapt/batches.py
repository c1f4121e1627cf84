"""Batches as a run would report them, without one."""

from aurora.engine.statistics import BatchReport, Delays
from aurora.engine.work import BoxWork, InputWork, Work

__all__ = ["batch"]


def batch(
    number: int,
    at: float,
    rows: int,
    box: float = 2e-6,
    given: dict[str, float] | None = None,
    took: float | None = None,
    waiting: int | None = None,
    delays: tuple[int, ...] = (),
) -> BatchReport:
    """One input `r` (1 microsecond a row), one box `over` and one output `far`; `at` in seconds of the run."""
    out = {port: round(rows * share) for port, share in (given or {"1": 0.5, "rest": 0.5}).items()}
    work = Work({"over": BoxWork(rows, out, rows * box)}, {"r": InputWork(rows, rows * 1e-6, waiting)}, took)
    far = out.get("1", 0)
    return BatchReport(
        number, {"far": far}, 0, 0, {}, {}, at, False, delays={"far": Delays(far, delays)}, work=work
    )
