"""The validator: reads the data and an output, says what is right and explains what is not."""

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from aurora.engine.spark.session import spark_session
from aurora.errors import AuroraError
from aurora.linear_road.edition import EDITIONS, Edition
from aurora.linear_road.judge import EXAMPLES, FAULTS, compare, read_output
from aurora.linear_road.reading import Block, Survey, cut_blocks, survey
from aurora.linear_road.records import DIALECTS, OUTPUT_NAMES, Dialect, Reject, parse_output
from aurora.linear_road.reference import Reference, reference_answers
from aurora.linear_road.storage_faults import plain_storage_faults
from aurora.linear_road.stored_histories import find_histories

__all__ = ["TypeVerdict", "Verdict", "judge", "validate", "write_rejects"]


@dataclass(frozen=True)
class TypeVerdict:
    """One output type: what was expected and given, the faults, the response times in seconds."""

    expected: int = 0
    given: int = 0
    missing: int = 0
    extra: int = 0
    wrong: int = 0
    late: int = 0
    early: int = 0
    duplicate: int = 0
    response: dict[str, float | None] = field(default_factory=lambda: {"p50": None, "p99": None, "max": None})
    examples: dict[str, list[str]] = field(default_factory=dict)

    def faults(self) -> int:
        return sum(getattr(self, fault) for fault in FAULTS)


@dataclass(frozen=True)
class Verdict:
    """The whole report; `unreadable` are lines of the output, `rejected` lines of the input."""

    edition: str
    dialect: str
    replicate: int
    tuples: dict[str, int]
    rejected: int
    unreadable: int
    unreadable_examples: list[str]
    outputs: dict[str, TypeVerdict]
    notes: list[str]

    @property
    def right(self) -> bool:
        return not self.unreadable and not any(output.faults() for output in self.outputs.values())

    def write(self, path: Path) -> None:
        """Writes the JSON report elsewhere and renames it in."""
        partial = path.with_name(f".{path.name}.writing")
        try:
            partial.write_text(json.dumps({"right": self.right, **asdict(self)}, indent=2) + "\n")
            partial.replace(path)
        except OSError as fault:
            raise AuroraError(f"cannot write the report {path}: {fault.strerror}") from None
        finally:
            partial.unlink(missing_ok=True)


def write_rejects(rejects: tuple[Reject, ...], path: Path) -> None:
    """The lines of the input that are no tuples: file, line, reason, text."""
    try:
        with path.open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["file", "line", "reason", "text"])
            lines.writerows((reject.file, reject.line, reject.reason, reject.text) for reject in rejects)
    except OSError as fault:
        raise AuroraError(f"cannot write the rejects to {path}: {fault.strerror}") from None


def _plain(micros: int) -> str:
    return f"{micros / 1_000_000:.6f}".rstrip("0").rstrip(".")


_VALUES = {0: ("LAV", "toll"), 1: ("accident in segment",), 3: ("expenditure",), 4: ("travel time", "toll")}


def _differences(row: Row, edition: Edition) -> str:
    kind, e, g = row["type"], row["e"], row["g"]
    found = [] if e["Time"] == g["Time"] else [f"Time {e['Time']} expected, {g['Time']} given"]
    if kind == 2:
        low = e["Time"] - edition.balance_window
        if not low * 1_000_000 <= g["result"] <= e["Time"] * 1_000_000:
            found.append(f"ResultTime {low}..{e['Time']} expected, {_plain(g['result'])} given")
        elif g["a"] not in (row["before"], row["upto"]):
            accepted = " or ".join(str(value) for value in sorted({row["before"], row["upto"]}))
            found.append(f"balance {accepted} at {_plain(g['result'])} expected, {g['a']} given")
        return "; ".join(found)
    for name, place in zip(_VALUES[kind], "ab", strict=False):
        slack = edition.travel_tolerance * e[place] if kind == 4 else 0
        if abs(e[place] - g[place]) > slack:
            found.append(f"{name} {e[place]} expected, {g[place]} given")
    if kind == 1 and g["XWay"] is not None and (e["XWay"], e["Dir"]) != (g["XWay"], g["Dir"]):
        found.append(
            f"expressway {e['XWay']} direction {e['Dir']} expected, {g['XWay']} and {g['Dir']} given"
        )
    return "; ".join(found)


def _explain(row: Row, edition: Edition) -> str:
    """One fault in words."""
    kind, e, g, fault = row["type"], row["e"], row["g"], row["fault"]
    time = (e or g)["Time"]
    if kind < 2:
        subject = f"car {row['key']} at {time}"
    else:
        subject = f"query {row['key']}" + (f" of car {e['VID']}" if e else "") + f" at {time}"
    name = OUTPUT_NAMES[kind]
    if fault == "missing":
        values = [f"{label} {e[place]}" for label, place in zip(_VALUES.get(kind, ()), "ab", strict=False)]
        return f"{subject}: no {name} given" + (f", {' and '.join(values)} expected" if values else "")
    if fault == "extra":
        return f"{subject}: {name} given (line {g['line']}), none expected"
    if fault == "duplicate":
        return f"{subject}: {name} given again (line {g['line']})"
    if fault == "wrong":
        return f"{subject}: {_differences(row, edition)}"
    if fault == "late":
        took, limit = _plain(row["response"]), edition.deadlines[kind]
        return f"{subject}: emitted at {_plain(g['emit'])}, after {took} s, {limit:g} s allowed"
    return f"{subject}: emitted at {_plain(g['emit'])}, before its Time"


def _unreadable(blocks: list[Block], dialect: Dialect) -> tuple[int, list[str]]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda block: parse_output(block.bytes(), dialect).reasons, blocks))
    lines = [
        f"line {block.line + at}: {reason}"
        for block, reasons in zip(blocks, found, strict=True)
        for at, reason in reasons.items()
    ]
    return len(lines), lines[:EXAMPLES]


def _check_outputs(*paths: Path) -> None:
    for path in paths:
        if not path.is_file():
            raise AuroraError(f"no output at {path}: give the CSV file that the system under test wrote")


def judge(
    spark: SparkSession,
    reference: Reference,
    output: Path,
    found: Survey,
    dialect: Dialect,
    edition: Edition,
    notes: list[str] | None = None,
    replicate: int = 1,
    also: Sequence[Path] = (),
) -> Verdict:
    """Compares an output with reference answers that are there already."""
    _check_outputs(output, *also)
    blocks = [block for path in (output, *also) for block in cut_blocks(path)]
    unreadable, lines = _unreadable(blocks, dialect)
    given = read_output(spark, blocks, dialect)
    counts, examples = compare(reference, given, dialect, edition)
    outputs: dict[str, TypeVerdict] = {}
    for kind in dialect.layouts:
        row: dict[str, Any] = next((row.asDict() for row in counts if row["type"] == kind), {})
        words: dict[str, list[str]] = {}
        for example in examples:
            if example["type"] == kind:
                words.setdefault(example["fault"], []).append(_explain(example, edition))
        numbers = {name: row.get(name, 0) for name in ("expected", "given", *FAULTS)}
        response = {name: row.get(name) for name in ("p50", "p99", "max")}
        outputs[OUTPUT_NAMES[kind]] = TypeVerdict(**numbers, response=response, examples=words)
    tuples = {str(kind): number * replicate for kind, number in found.counts.items()}
    return Verdict(
        edition.name,
        dialect.name,
        replicate,
        tuples,
        len(found.rejects),
        unreadable,
        lines,
        outputs,
        notes or [],
    )


def validate(
    spark: SparkSession | None,
    data: Path,
    output: Path,
    *,
    history: Path | None = None,
    dialect: str = "native",
    edition: str = "2004",
    replicate: int = 1,
    today: int = 2,
    rejects: Path | None = None,
    also: Sequence[Path] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """Computes the reference answers for the data and compares the output with them; `also` are more files of it.

    Without a session one is started, after the data have been read: most mistakes are told before that.
    """
    if dialect not in DIALECTS:
        raise AuroraError(f"unknown dialect {dialect}: give one of {', '.join(DIALECTS)}")
    if edition not in EDITIONS:
        raise AuroraError(f"unknown edition {edition}: give one of {', '.join(EDITIONS)}")
    _check_outputs(output, *also)
    progress("reading the data")
    histories = find_histories(data, history)
    histories.check_toll()
    found = survey(data)
    notes = [note for note in (histories.note(),) if note]
    if found.rejects:
        notes.append(f"{len(found.rejects)} lines of the input rejected, no answer to them is expected")
        if rejects is not None:
            write_rejects(found.rejects, rejects)
    spark = spark or spark_session("linear-road validate")
    scratch = Path(tempfile.mkdtemp(prefix="aurora-validate-"))
    try:
        with (
            plain_storage_faults("validating"),
            reference_answers(
                spark,
                found,
                histories,
                scratch,
                EDITIONS[edition],
                copies=replicate,
                today=today,
                progress=progress,
            ) as reference,
        ):
            progress("comparing")
            return judge(
                spark, reference, output, found, DIALECTS[dialect], EDITIONS[edition], notes, replicate, also
            )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
