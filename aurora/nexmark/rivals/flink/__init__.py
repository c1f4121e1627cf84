"""Flink SQL with its own file source and sink, its state in memory, and no checkpoints, which is its fastest."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from aurora.errors import AuroraError
from aurora.nexmark.rivals.flink.environment import VERSION, interpreter
from aurora.nexmark.rivals.flink.sql import IMPOSSIBLE, statements
from aurora.nexmark.rivals.inputs import longest_auction, write_side
from aurora.nexmark.rivals.system import REPORT, Job, Timing, event_files, timed

__all__ = ["Flink"]

SCRIPT = Path(__file__).with_name("job.py")
SETTINGS = {
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "execution.runtime-mode": "STREAMING",
}


class Flink:
    """Runs in a virtual environment of its own, on a cluster inside one Java process."""

    name = "flink"
    version = VERSION
    impossible: Mapping[str, str] = IMPOSSIBLE

    def prepare(self, say: Callable[[str], None]) -> None:
        interpreter(say)

    def run(self, job: Job) -> Timing:
        python = interpreter(lambda _text: None)
        folder = job.out.parent / f"{job.out.name}.input"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            work = statements(
                job.query,
                str(_one_file(job.data, folder)),
                str(job.out.resolve()),
                job.rules,
                side=str(write_side(folder.resolve())) if job.query == "q13" else "",
                longest=longest_auction(job),
            )
            settings = SETTINGS | {"parallelism.default": str(job.cores)}
            (folder / "work.json").write_text(json.dumps(work | {"settings": settings, "report": REPORT}))
            whole, seconds = timed(
                [str(python), str(SCRIPT), str(folder / "work.json")],
                job.out,
                f"Flink {VERSION} with {job.query}",
                {"JVM_ARGS": "-XX:MaxRAMPercentage=50"},
            )
        finally:
            shutil.rmtree(folder)
        return Timing(whole, seconds, tuple(sorted(path for path in job.out.iterdir() if path.is_file())))


def _one_file(data: Path, folder: Path) -> Path:
    """The events in one file. Flink reads several in no fixed order, and drops those of the earlier as late."""
    files = event_files(data)
    if len(files) == 1:
        return files[0].resolve()
    joined = folder.resolve() / "events.jsonl"
    try:
        with open(joined, "wb") as out:
            for path in files:
                with open(path, "rb") as part:
                    shutil.copyfileobj(part, out, 1 << 24)
    except OSError as fault:
        raise AuroraError(
            f"cannot join the events for Flink in {folder}: {fault.strerror}; make room"
        ) from fault
    return joined
