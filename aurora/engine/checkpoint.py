"""The folder from which a killed run goes on: whose it is, and what must stay the same."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from aurora.engine.plan import Plan
from aurora.engine.settings import Settings, cores_of
from aurora.engine.sinks.address import Sink
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.text import TextSink
from aurora.errors import AuroraError

__all__ = ["bucket_count", "open_checkpoint", "scratch_folder"]


def open_checkpoint(plan: Plan, sinks: dict[str, Sink], settings: Settings) -> Path:
    """The folder from which a killed run goes on; beside the first sink unless given."""
    mark = hashlib.sha256(plan.fingerprint().encode()).hexdigest()
    if settings.checkpoint is not None:
        folder = Path(settings.checkpoint).absolute()
    else:
        paths = [sink.path for name, sink in sinks.items() if isinstance(sink, TextSink | PartSink)]
        if not paths:
            return Path(tempfile.mkdtemp(prefix="aurora-"))
        folder = Path(os.path.dirname(paths[0])) / f".{os.path.basename(paths[0])}.checkpoint"
    if settings.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    owner = folder / "network"
    if owner.exists() and owner.read_text() != mark:
        raise AuroraError(
            f"{folder} is the checkpoint of another network or run; remove it or start anew with --fresh"
        )
    owner.write_text(mark)
    return folder


def bucket_count(checkpoint: Path, settings: Settings) -> int:
    """State lies in buckets: a run that goes on keeps the number that it began with."""
    note = checkpoint / "buckets"
    if not note.exists():
        note.write_text(str(settings.partitions or cores_of(settings.master)))
    return int(note.read_text())


def scratch_folder(checkpoint: Path) -> str:
    """The same for every run that goes on from a checkpoint, so that a killed one leaves nothing behind for good."""
    mark = hashlib.sha256(str(checkpoint.absolute()).encode()).hexdigest()[:16]
    return os.path.join(tempfile.gettempdir(), f"aurora-state-{mark}")
