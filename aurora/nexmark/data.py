"""A folder of events, as the queries read it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError
from aurora.nexmark.queries.events import LATENESS, Rules

__all__ = ["EventFolder"]

FORMATS = {"jsonl": "json", "parquet": "parquet"}


@dataclass(frozen=True)
class EventFolder:
    """The files events-NNNNN of one format, and what generation.json says of them, if it is there."""

    path: Path
    suffix: str
    files: tuple[Path, ...]
    profile: str = "standard"
    lateness: int = LATENESS
    events: int | None = None

    @staticmethod
    def of(path: Path) -> "EventFolder":
        if not path.is_dir():
            raise AuroraError(
                f"there is no folder {path}: make one with aurora nexmark generate --out {path}"
            )
        for suffix in FORMATS:
            files = tuple(sorted(path.glob(f"events-*.{suffix}")))
            if files:
                return EventFolder(path, suffix, files, **_summary(path / "generation.json"))
        raise AuroraError(
            f"{path} has no events-NNNNN.jsonl or .parquet: make them with aurora nexmark generate --out {path}"
        )

    @property
    def rules(self) -> Rules:
        return Rules(self.profile, lateness=self.lateness)

    @property
    def source(self) -> str:
        return f"{FORMATS[self.suffix]}:{self.path}/events-*.{self.suffix}"

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def _summary(path: Path) -> dict[str, Any]:
    """How late events may be is what the firehose was asked for."""
    if not path.exists():
        return {}
    try:
        told = json.loads(path.read_text())
        return {
            "profile": str(told["profile"]),
            "lateness": round(float(told["late_by"]) * 1000),
            "events": int(told["events"]),
        }
    except (ValueError, KeyError, TypeError):
        raise AuroraError(
            f"{path} is not what aurora nexmark generate writes: remove it, or generate it again"
        ) from None
