"""`nexmark run`: one query over a folder of events, measured, and checked if asked for."""

import json
import os
import re
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from aurora import AuroraError, BatchReport, Network, Paced, Result, Settings, TextSink, run
from aurora.nexmark.data import EventFolder
from aurora.nexmark.losing import Losing
from aurora.nexmark.metrics import Curve, latencies
from aurora.nexmark.progress import Pace, Progress
from aurora.nexmark.queries import QUERIES, Rules, query_network
from aurora.nexmark.record import Lines, Record

__all__ = ["Measured", "RunReport", "run_query"]

# Before the clock starts, so many batches of so many events go through the query: Java and the workers are warm then.
WARM_BATCHES, WARM_ROWS = 4, 10_000


@dataclass(frozen=True)
class RunReport:
    """What a run did, always all of it together; `seconds` are those of this run, without start-up."""

    query: str
    title: str
    profile: str
    lateness_ms: int
    events: int
    rows: int
    seconds: float
    events_per_s: float
    mb_per_s: float
    cores: int
    events_per_s_and_core: float
    tuple_latency_s: dict[str, float]
    output_matching: dict[str, Any]
    late: int
    rejected: int
    ended: bool
    rate: dict[str, Any] | None = None
    agrees: bool | None = None
    check: dict[str, Any] | None = None

    def write(self, path: Path) -> None:
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self), indent=2) + "\n")
        partial.replace(path)


@dataclass(frozen=True)
class Measured:
    """A report, with the curves that the plots show."""

    report: RunReport
    record: Record
    curve: Curve
    pace: Pace
    # What the check says, in words; empty without one.
    verdict: str = ""
    # Inputs of which no row could be read.
    unread: tuple[str, ...] = ()


def run_query(
    query: str,
    data: Path,
    out: Path,
    *,
    profile: str | None = None,
    lateness: float | None = None,
    dollars_to_euros: float = 0.908,
    rate: float | None = None,
    lose: float = 0.0,
    check: bool = False,
    master: str | None = None,
    batch: int | None = None,
    partitions: int | None = None,
    fresh: bool = False,
    watch: Callable[[Progress], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> Measured:
    """Runs until the events end or `stop` is set; one that was killed goes on where it stopped.

    `lateness` is in seconds. Profile and lateness are those of the data folder unless given. `out` gets result.jsonl,
    rejects.csv if there are any, and report.json. With `lose`, a share of the events never comes, as if the load were
    shed, and the result is held against that of all events.
    """
    if lose and (check or rate is None):
        raise AuroraError(
            "what is lost is measured at a --rate, and a result without it cannot be right: no --check"
        )
    folder = EventFolder.of(data)
    rules = folder.rules.but(profile, lateness, dollars_to_euros)
    network = query_network(query, rules)
    settings = Settings(master, batch or Settings.batch, partitions, fresh=fresh)
    kept = Losing(folder.source, lose) if lose else folder.source
    source: Any = folder.source if rate is None else Paced(kept, rate)
    _check_out(out, folder)
    measure, nulls = QUERIES[query].measure, query != "q0"
    record = Record(measure, nulls)
    # Where nothing but the number of rows matters, and no event has a time of its own, the tasks write the lines.
    in_tasks = rate is None and measure.kind == "rows"
    pace = Pace(rate, folder.events, watch, tell, record if in_tasks else None)
    if rate is not None:
        tell(f"warming up; then {rate:,.0f} events a second")
        _warm(network, {"events": folder.source, **QUERIES[query].tables()}, settings)
    ideal = _Ideal.of(query, network, folder, rate, settings) if lose and rate else None
    lines = Lines(nulls) if in_tasks else record
    sinks = {"result": TextSink(str(out / "result.jsonl"), lines, in_tasks=in_tasks)}
    sources = {"events": source, **QUERIES[query].tables()}

    def watched(batch: BatchReport) -> None:
        # That of an earlier run; one that is refused, or cannot begin, leaves it alone.
        (out / "report.json").unlink(missing_ok=True)
        pace(batch)

    result = run(network, sources, sinks, settings, watched, stop)
    curve = record.curve() if ideal is None else record.curve(ideal.record, (pace.began or 0) - ideal.began)
    report = _report(query, rules, folder, result, record, curve, pace, master)
    report.write(out / "report.json")
    measured = Measured(report, record, curve, pace, unread=tuple(result.totals.unread))
    return _checked(measured, data, out, rules) if check and result.ended else measured


def _check_out(out: Path, folder: EventFolder) -> None:
    """Raises a fault unless it is a folder, in which no event is written over."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise AuroraError(f"cannot write to --out {out}: {fault.strerror}; choose another folder") from None
    written = [path for path in (out / "report.json", out / "result.jsonl") if path.exists()]
    for file in folder.files:
        if any(path.samefile(file) for path in written):
            raise AuroraError(
                f"the run reads {file}, and with --out {out} it writes there, too: choose another folder"
            )


def _warm(network: Network, sources: Mapping[str, Any], settings: Settings) -> None:
    enough = threading.Event()

    def watch(report: BatchReport) -> None:
        if report.batch + 1 >= WARM_BATCHES:
            enough.set()

    with tempfile.TemporaryDirectory(prefix="nexmark-warm-") as folder:
        own = Settings(
            settings.master,
            WARM_ROWS,
            settings.partitions,
            checkpoint=f"{folder}/checkpoint",
            rejects=f"csv:{folder}/rejects.csv",
        )
        run(network, sources, {"result": lambda rows: None}, own, watch, enough)


@dataclass(frozen=True)
class _Ideal:
    """What comes of all events, with the times at which they are due, from the millisecond `began` on."""

    record: Record
    began: int

    @staticmethod
    def of(query: str, network: Network, folder: EventFolder, rate: float, settings: Settings) -> "_Ideal":
        record = Record(QUERIES[query].measure)
        pace = Pace(rate, None, lambda _: None, lambda _: None)
        sources = {"events": Paced(folder.source, rate, wait=False), **QUERIES[query].tables()}
        with tempfile.TemporaryDirectory(prefix="nexmark-ideal-") as scratch:
            sink = TextSink(str(Path(scratch) / "result.jsonl"), record)
            run(
                network,
                sources,
                {"result": sink},
                Settings(settings.master, partitions=settings.partitions),
                pace,
            )
        return _Ideal(record, pace.began or 0)


def _report(
    query: str,
    rules: Rules,
    folder: EventFolder,
    result: Result,
    record: Record,
    curve: Curve,
    pace: Pace,
    master: str | None,
) -> RunReport:
    local = re.fullmatch(r"local\[(\d+)\]", master or "")
    cores = int(local[1]) if local else os.cpu_count() or 1
    seconds = max(result.seconds, 1e-9)
    share = 1.0 if result.ended or not folder.events else pace.events / folder.events
    return RunReport(
        query=query,
        title=QUERIES[query].title,
        profile=rules.profile,
        lateness_ms=rules.lateness,
        events=pace.events,
        rows=result.totals.rows["result"],
        seconds=result.seconds,
        events_per_s=pace.events / seconds,
        mb_per_s=folder.bytes * share / seconds / 1e6,
        cores=cores,
        events_per_s_and_core=pace.events / seconds / cores,
        tuple_latency_s=latencies(record.latency),
        output_matching=curve.described(),
        late=sum(reasons["out of order"] for reasons in result.totals.discarded.values()),
        rejected=result.totals.rejected,
        ended=result.ended,
        rate=pace.described(),
    )


def _checked(measured: Measured, data: Path, out: Path, rules: Rules) -> Measured:
    # DuckDB is loaded for a check alone.
    from aurora.nexmark.check import check

    settings = {"lateness": rules.lateness, "dollars_to_euros": rules.dollars_to_euros}
    agreement = check(measured.report.query, data, out / "result.jsonl", rules.profile, settings)
    report = replace(measured.report, agrees=agreement.agrees, check=agreement.described())
    report.write(out / "report.json")
    return replace(measured, report=report, verdict=str(agreement))
