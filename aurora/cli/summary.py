"""What a run did, on stderr: rows read and by output, what the boxes left out, and what could not be read."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from aurora.cli.telling import tell, warn
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from aurora.engine.spark_run import Result

__all__ = ["check_read", "count", "summarise", "tell_empty", "tell_left_out", "tell_stopped"]

# Names longer than what is left of a line beside a number of rows are cut in their middle.
NUMBER = 20


def summarise(result: "Result", outputs: list[str]) -> None:
    """One event with all figures for a machine, lines for a person."""
    from aurora.adapt.deferral import ARC

    totals = result.totals
    read = {name: int(place["row"]) for name, place in sorted(totals.places.items())}
    written = {name: totals.rows.get(name, 0) for name in sorted(outputs)}
    left_out = {
        box.removeprefix(ARC): dict(sorted(reasons.items()))
        for box, reasons in sorted(totals.discarded.items())
        if reasons
    }
    lines = [
        *(["already finished: nothing to do; --fresh starts over"] * result.already),
        f"{count(totals.batch + 1, 'batch', 'batches')} in {result.seconds:.1f} s",
        *_table("input", read),
        *_table("output", written),
        *tell_left_out(left_out),
    ]
    tell(
        "\n".join(lines),
        "summary",
        ended=result.ended,
        batches=totals.batch + 1,
        seconds=round(result.seconds, 3),
        inputs=read,
        outputs=written,
        discarded=left_out,
        rejected=totals.rejected,
    )
    if totals.rejected:
        where = f"see {totals.rejects}" if totals.rejects else "add --rejects csv:PATH to see them"
        warn(
            f"{count(totals.rejected, 'row', 'rows')} could not be read: {where}",
            "rejects",
            rejected=totals.rejected,
            file=totals.rejects,
        )


def tell_stopped(result: "Result", fresh: bool) -> None:
    """That the input has not ended, and how to go on."""
    if not result.goes_on:
        text = "stopped: nothing is kept; with --checkpoint DIR, a run continues where it stopped"
    else:
        waiting = f"; {count(result.waiting, 'tuple waits', 'tuples wait')} for it" if result.waiting else ""
        same = f"the same command{' without --fresh' if fresh else ''}"
        text = f"stopped: {same} continues where it stopped{waiting}"
    tell(text, "stopped", goes_on=result.goes_on, waiting=result.waiting)


def tell_empty(result: "Result", sources: Mapping[str, str]) -> None:
    """Warn of inputs that have ended without a row: another file may have been meant."""
    from aurora.engine.sources.address import source_path

    for name, place in sorted(result.totals.places.items()):
        if int(place["row"]) == 0 and name in sources:
            path = source_path(name, sources[name])
            warn(
                f"input {name} had no rows{'' if path is None else f': {path} is empty'}", "empty", input=name
            )


def check_read(unread: Sequence[str]) -> None:
    """Raises a fault if there are inputs of which every row was rejected."""
    if unread:
        inputs = "input" if len(unread) == 1 else "inputs"
        raise AuroraError(
            f"no row of {inputs} {', '.join(unread)} could be read: check the schema, and what the file holds"
        )


def count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def tell_left_out(left_out: Mapping[str, Mapping[str, int]]) -> Iterable[str]:
    """A line for each box and reason."""
    from aurora.engine.drops import SHED

    for box, reasons in left_out.items():
        for reason, number in reasons.items():
            told = count(number, "tuple", "tuples")
            line = (
                f"load was shed: {told} of {{}}" if reason == SHED else f"box {{}} left out {told}: {reason}"
            )
            yield line.format(_cut(box, max(_width() - len(line) + len("{}"), NUMBER)))


def _width() -> int:
    return shutil.get_terminal_size().columns


def _table(title: str, rows: Mapping[str, int]) -> Iterable[str]:
    """A name and a number in each line, none wider than the terminal."""
    if not rows:
        return
    room = max(_width() - NUMBER, NUMBER)
    names = [_cut(name, room) for name in rows]
    numbers = [f"{number:,}" for number in rows.values()]
    wide, most = max(map(len, (title, *names))), max(map(len, ("rows", *numbers)))
    yield f"{title:{wide}}  {'rows':>{most}}"
    for name, number in zip(names, numbers, strict=True):
        yield f"{name:{wide}}  {number:>{most}}"


def _cut(name: str, room: int) -> str:
    """
    >>> _cut("a_long_name_of_a_box", 12), _cut("a_box", 12)
    ('a_lon..a_box', 'a_box')
    """
    half = (room - 2) // 2
    return name if len(name) <= room else f"{name[:half]}..{name[-half:]}"
