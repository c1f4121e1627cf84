"""The polling: once a second what has arrived goes to the procedure, and its answers leave with the time on them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aurora.linear_road.rivals.feed import Feed
from aurora.linear_road.rivals.procedure import Arrival, Procedure, half_minute

__all__ = ["Batch", "Polled", "poll"]


@dataclass(frozen=True)
class Batch:
    """The batch that was answered last: its last second, the tuples so far, how far behind, response times by type."""

    second: int
    tuples: int
    behind: float
    responses: dict[str, float]


@dataclass(frozen=True)
class Polled:
    """`given_up` says why the polling ended before the input did."""

    tuples: int
    seconds: float
    largest_lag: float
    given_up: str | None


def _next(waiting: list[Arrival]) -> list[Arrival]:
    """What is taken at once: all that waits, but not across the end of a half minute."""
    return [arrival for arrival in waiting if half_minute(arrival.second) == half_minute(waiting[0].second)]


def poll(
    feed: Feed,
    procedure: Procedure,
    output: Path,
    *,
    hopeless: float = 60.0,
    watch: Callable[[Batch], None] = lambda _: None,
) -> Polled:
    """Answers until the input is over, or gives up when it is `hopeless` seconds behind."""
    lag, given_up = 0.0, None
    began = feed.now()
    with output.open("wb", buffering=0) as file:

        def leave(lines: str) -> float:
            emit = feed.now()
            file.write((lines.replace("@", f"{emit:.3f}") + "\n").encode())
            return emit

        while True:
            # Asked before looking: nothing comes between.
            over = feed.over()
            batch = _next(feed.waiting())
            if not batch:
                if over:
                    break
                feed.nap()
                continue
            responses = {}
            for name, lines in procedure.answer(batch):
                responses[name] = leave(lines) - batch[0].second
            for arrival in batch:
                feed.let_go(arrival)
            second = batch[-1].second
            behind = max(0.0, feed.now() - second)
            lag = max(lag, behind)
            watch(Batch(second, procedure.tuples, behind, responses))
            if behind > hopeless:
                given_up = f"given up at second {second}, {behind:.0f} s behind"
                break
        if given_up is None:
            for _, lines in procedure.journeys():
                leave(lines)
    return Polled(procedure.tuples, feed.now() - began, lag, given_up)
