"""Where the seconds come from: the driver, a process of its own that puts a file a second into a folder."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from aurora.errors import AuroraError
from aurora.linear_road.delivery import ENDED, Clock, Delivery, delivered_seconds
from aurora.linear_road.reading import Survey
from aurora.linear_road.rivals.procedure import Arrival

__all__ = ["Feed", "drive_in_real_time"]

# How long to wait before looking again.
_NAP = 0.01


class Feed(Protocol):
    """Seconds of input as they arrive, and the simulation clock that they come by."""

    def now(self) -> float: ...

    def waiting(self) -> list[Arrival]:
        """What has arrived and has not been let go, in the order of time."""

    def let_go(self, arrival: Arrival) -> None: ...

    def over(self) -> bool:
        """Whether all that ever comes has arrived."""

    def nap(self) -> None: ...


class _Folder:
    """The driver's folder; the clock starts when it is asked for the first time."""

    def __init__(self, folder: Path, clock: Clock, driver: "subprocess.Popen[str]") -> None:
        self._folder, self._driver = folder, driver
        assert driver.stdin is not None
        driver.stdin.write("go\n")
        driver.stdin.flush()
        while (epoch := clock.epoch()) is None:
            self._check()
            self.nap()
        self._epoch = epoch

    def now(self) -> float:
        return time.time() - self._epoch

    def waiting(self) -> list[Arrival]:
        # A listing may miss a file that comes while it is made, but none that was there before: so the second one is
        # complete up to the last file of the first.
        seen = delivered_seconds(self._folder)
        return [
            Arrival(second, self._folder / f"second-{second:06d}.csv")
            for second in delivered_seconds(self._folder)
            if seen and second <= seen[-1]
        ]

    def let_go(self, arrival: Arrival) -> None:
        arrival.file.unlink()

    def over(self) -> bool:
        self._check()
        return (self._folder / ENDED).exists()

    def nap(self) -> None:
        time.sleep(_NAP)

    def _check(self) -> None:
        if self._driver.poll():
            _, complaint = self._driver.communicate()
            raise AuroraError(
                complaint.strip().splitlines()[-1] if complaint.strip() else "the driver stopped"
            )


@contextmanager
def drive_in_real_time(data: Path, found: Survey, replicate: int, scratch: Path) -> Iterator[Feed]:
    """The data in real time, from now on, through files in `scratch`."""
    clock, folder = Clock(scratch / "clock.json"), scratch / "delivered"
    delivery = Delivery(
        str(data.absolute()),
        str(folder),
        str(clock.path),
        str(scratch / "driver.json"),
        replicate,
        found.first_second,
        found.last_second,
    )
    driver = delivery.start()
    try:
        yield _Folder(folder, clock, driver)
    finally:
        driver.kill()
        driver.communicate()
