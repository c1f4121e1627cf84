"""A command in a group of processes whose memory the system limits, as in a container."""

import os
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Limited", "run_limited"]

GROUPS = Path("/sys/fs/cgroup")
# Between two looks at what the group uses, in seconds.
LOOK = 0.2


@dataclass(frozen=True)
class Limited:
    """How a command ended, and the most that its processes had in memory, in bytes: at once in all, which includes
    what the system could have dropped, and without files."""

    status: int
    whole: int
    own: int


def run_limited(command: list[str], most: int) -> Limited | None:
    """Runs a command with so many bytes for it and all that it starts, files in memory included; a process that asks
    for more is killed. None where this system lets nobody limit it."""
    group = _make_group(most)
    if group is None:
        return None
    try:
        join = f'echo $$ > {group / "cgroup.procs"} && exec "$@"'
        with subprocess.Popen(["sh", "-c", join, "sh", *command], stdout=subprocess.DEVNULL) as process:
            own = _watch(group, process)
        peaks = [group / "memory.max_usage_in_bytes", group / "memory.peak"]
        whole = next((int(path.read_text()) for path in peaks if path.exists()), own)
        return Limited(process.returncode, whole, own)
    finally:
        _remove(group)


def _make_group(most: int) -> Path | None:
    """A group below the one of this process, by either version of the system's interface."""
    places = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    if "memory" in places:
        above, limit = GROUPS / "memory" / places["memory"].lstrip("/"), "memory.limit_in_bytes"
    else:
        above, limit = GROUPS / places.get("", "/").lstrip("/"), "memory.max"
    group = above / f"aurora-bench-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(most))
    except OSError:
        if group.exists():
            group.rmdir()
        return None
    return group


def _watch(group: Path, process: "subprocess.Popen[bytes]") -> int:
    """The most that the group has had of its own until the command ends."""
    most = 0
    while True:
        try:
            process.wait(LOOK)
        except subprocess.TimeoutExpired:
            lines = (group / "memory.stat").read_text().splitlines()
            found = {name: int(value) for name, value in (line.split() for line in lines)}
            most = max(most, found.get("total_rss", found.get("anon", 0)))
            continue
        return most


def _remove(group: Path) -> None:
    """What the command has left is given some time to end; then the group stays."""
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            threading.Event().wait(LOOK)
        else:
            return
