"""Every query as it is printed, in both profiles: JSON files go in, and DuckDB agrees with what comes out; no Spark."""

from pathlib import Path
from typing import Any

import pytest

from aurora import Schema, from_text, to_text
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.sources.address import open_source
from aurora.nexmark.check import check
from aurora.nexmark.data import EventFolder
from aurora.nexmark.firehose import Pace, Settings
from aurora.nexmark.firehose.folder import generate
from aurora.nexmark.queries import PROFILES, QUERIES, Rules, query_network
from aurora.nexmark.record import Lines
from tests.nexmark.auctions import write_rows
from tests.nexmark.events import small_events

GENERATED, SMALL = 900, 600
# Windows close while events come, and some events come too late for them.
PACE, LATE_BY, LATENESS = Pace.parse("20"), 4.0, 2000


def renumbered(event: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """No auction or person has the id of one of the firehose; the auction that q2 looks for stays the same."""
    ((kind, body),) = event.items()
    ids = {
        name: body[name] + 100_000
        for name in ("id", "seller", "auction", "bidder")
        if body.get(name, 1007) != 1007
    }
    return {kind: {**body, **ids}}


@pytest.fixture(scope="module", params=PROFILES)
def events(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EventFolder:
    """Those of the firehose in a profile, and after them some with all that is hard, which every query answers."""
    folder = tmp_path_factory.mktemp(request.param)
    settings = Settings(profile=request.param, pace=PACE, late=0.1, late_by=LATE_BY)
    generate(settings, GENERATED, folder, "json", GENERATED // 2)
    write_rows(folder / "events-00002.jsonl", map(renumbered, small_events(9, SMALL)))
    return EventFolder.of(folder)


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_printed_gives_the_rows_of_duckdb(query: str, events: EventFolder, tmp_path: Path) -> None:
    network = from_text(to_text(query_network(query, Rules(events.profile, lateness=LATENESS))))
    plan = plan_network(project_inputs(network, ["result"]), ["result"])
    plan = plan.with_tables({name: table.rows for name, table in QUERIES[query].tables().items()})
    ((name, schema),) = plan.inputs
    source, _ = open_source(name, events.source, Schema.of(schema), follow=False, notes=tmp_path)
    run = LocalRun(plan, buckets=2)
    run.read({name: source}, [700, 50])
    assert run.ended and not run.rejects
    lines = Lines(nulls=query != "q0")
    result = tmp_path / "result.jsonl"
    result.write_bytes(b"".join(lines(train.rows, train.arrived) for train in run.outputs["result"]))
    agreement = check(query, events.path, result, events.profile, {"lateness": LATENESS})
    assert agreement.agrees, agreement
    assert result.stat().st_size > 0
