"""Runs a network on arrivals, cut into batches and spread over buckets, in this process."""

from aurora import Network
from aurora.algebra.state.turn import Moment
from aurora.engine.local import LocalRun
from aurora.engine.plan import plan_network
from tests.algebra.harness import Arrival, trains

__all__ = ["run_network"]


def run_network(
    network: Network,
    arrivals: list[Arrival],
    cut: int,
    buckets: int = 1,
    fuse: bool = True,
    ticks: bool = False,
) -> LocalRun:
    """The inputs of the network have numbers in their order; with `ticks` a millisecond goes by with each arrival."""
    plan = plan_network(network, fuse=fuse)
    names, schemas = zip(*plan.inputs, strict=True)
    run = LocalRun(plan, buckets)
    starts = [*range(0, len(arrivals), cut), len(arrivals)]
    for start in starts:
        batch = zip(names, trains(arrivals, schemas, start, start + cut), strict=True)
        run.feed(batch, Moment(start if ticks else 0, 2 * start, end=start == starts[-1]))
    return run
