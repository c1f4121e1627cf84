"""Controls of a run: set while it runs, and carried by the offset of each batch that they hold for."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from aurora.engine.drops import Drop
from aurora.engine.durable import read_json, replace_note
from aurora.engine.private import replace_own

__all__ = ["ControlNotes", "Controls", "Rewrites", "replace_text"]

# Chains of boxes that are carried out as one, each with the names of its boxes in the order in which they work.
Rewrites = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Controls:
    """The controls under which a batch is made. A repeated batch follows its own, whatever has been set since.

    A batch has `rows` of each input (None: the engine decides). While `paused`, no batch is made beyond the first
    `until` ones; while `held`, none at all, because others go first. `taps` are the streams of which somebody looks at
    a few tuples of each batch. `drops` are the drop boxes that shed load. While `patient`, batches may take longer than
    the good zones of the outputs allow, because nothing else helps to keep up. `rewrites` are the chains of boxes that
    work in another order than the network has them.
    """

    rows: int | None = None
    paused: bool = False
    until: int = 0
    held: bool = False
    taps: tuple[str, ...] = ()
    drops: tuple[Drop, ...] = ()
    patient: bool = False
    rewrites: Rewrites = ()

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams and arcs that must stay where they are: they have a tap or a drop box."""
        return (*self.taps, *sorted({drop.place for drop in self.drops}))

    def allow(self, made: int) -> bool:
        """Whether another batch may follow the `made` ones."""
        return not self.held and (not self.paused or made < self.until)

    def to_json(self) -> dict[str, Any]:
        """The controls as plain data, for the offset of a batch."""
        listed = {"taps": list(self.taps), "rewrites": [list(order) for order in self.rewrites]}
        return {**asdict(self), **listed, "drops": [asdict(drop) for drop in self.drops]}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Controls":
        """The controls from plain data; names of a later version are ignored."""
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in content.items() if name in known}
        drops = tuple(Drop(**drop) for drop in given.get("drops", ()))
        rewrites = tuple(tuple(order) for order in given.get("rewrites", ()))
        return cls(**{**given, "taps": tuple(given.get("taps", ())), "drops": drops, "rewrites": rewrites})


@dataclass(frozen=True)
class ControlNotes:
    """How a run tells its source of new controls, and how the source answers.

    The source lives in a process of Spark's, so they talk through two small files of the checkpoint. Orders are
    numbered; an answer names the last order that was seen, and how many batches had been made, and done, by then.
    """

    folder: str

    @property
    def _orders(self) -> Path:
        return Path(self.folder) / "controls.json"

    @property
    def _answers(self) -> Path:
        return Path(self.folder) / "controls.seen"

    def order(self, number: int, controls: Controls) -> None:
        replace_note(self._orders, json.dumps({"number": number, "controls": controls.to_json()}))

    def last_order(self) -> tuple[int, Controls]:
        content = _read(self._orders)
        return content.get("number", 0), Controls.from_json(content.get("controls", {}))

    def answer(self, number: int, made: int) -> None:
        replace_note(self._answers, json.dumps({"number": number, "made": made}))

    def last_answer(self) -> tuple[int, int]:
        content = _read(self._answers)
        return content.get("number", -1), content.get("made", 0)

    def begin(self) -> None:
        """Forgets what an earlier run was told: a run begins under the controls of its settings."""
        self._answers.unlink(missing_ok=True)
        self.order(0, Controls())


def replace_text(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file in one step: who reads it finds the old text or the new one. Others may read it as `mode` says."""
    partial = path.with_name(f"{path.name}.partial")
    with open(replace_own(partial, mode), "w", encoding="utf-8") as file:
        file.write(text)
    partial.replace(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = read_json(path, "give the same command again, which writes it anew")
    except FileNotFoundError:
        return {}
    return content
