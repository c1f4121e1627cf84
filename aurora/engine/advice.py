"""Who tells a run, batch by batch, how its network is to be rearranged."""

from typing import Protocol

from aurora.engine.controls import Rewrites
from aurora.engine.statistics import BatchReport, Change

__all__ = ["Adviser"]


class Adviser(Protocol):
    @property
    def changes(self) -> tuple[Change, ...]:
        """What has been changed so far, the oldest first."""
        ...

    def advise(self, report: BatchReport) -> Rewrites:
        """After each batch: what should hold for the next ones."""
        ...
