"""The worked tables of the manual: each row is an arrival, and what comes out of each output stands beside it."""

import re

import numpy as np
import pyarrow as pa
import pytest

from aurora import from_text
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from tests.test_docs import ROOT

PAGES = ["docs/late-data.md", "docs/networks.md"]
# A network, and the table behind it; one that says what its outputs give is run.
WORKED = re.compile(
    r"^```yaml\n(network:(?:(?!^```).)*)^```\n\n(\|[^\n]*\| `\w+` gives[^\n]*\n(?:\|[^\n]*\n)+)",
    re.MULTILINE | re.DOTALL,
)
FOUND = [(page, *match) for page in PAGES for match in WORKED.findall((ROOT / page).read_text())]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@pytest.mark.parametrize(
    ("text", "table"), [found[1:] for found in FOUND], ids=[found[1].splitlines()[0] for found in FOUND]
)
@pytest.mark.parametrize("buckets", [1, 3])
def test_worked_table(text: str, table: str, buckets: int) -> None:
    network = from_text(text).checked()
    (input_name, schema), *others = plan_network(network).inputs
    assert not others
    header, _, *lines = table.splitlines()
    titles = cells(header)
    outputs = {
        match[1]: place for place, title in enumerate(titles) if (match := re.match(r"`(\w+)` gives", title))
    }
    assert outputs.keys() == network.outputs.keys()
    timed = titles[0] == "seconds passed"
    run = LocalRun(plan_network(network), buckets)
    for number, line in enumerate(lines):
        row = cells(line)
        seconds, arrival = (float(row[0]), row[1]) if timed else (0.0, row[0])
        moment = Moment(int(seconds * 1000), 2 * number, end=arrival == "the end")
        assert moment.end == (number == len(lines) - 1)
        values = [] if moment.end else [dict(zip(schema.names, arrival.split(", "), strict=True))]
        rows = pa.RecordBatch.from_pylist(values, pa.schema([(name, pa.string()) for name in schema.names]))
        train = Train(
            rows.cast(schema.arrow()),
            np.full(len(values), moment.now, np.int64),
            np.full((1, len(values)), 2 * number, np.int64),
        )
        before = run.discarded.total()
        given = run.feed([(input_name, train)], moment)
        for name, place in outputs.items():
            found = given[name].rows.to_pylist() if name in given else []
            shown = " and ".join(", ".join(map(str, each.values())) for each in found)
            assert shown == row[place], (name, line)
        said = bool(re.search(r"left out|leaves it out", line))
        assert said == (run.discarded.total() > before), line


def test_every_table_of_what_a_box_gives_is_run() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text()
        heads = re.findall(r"^\|[^\n]*\| `\w+` gives", text, re.MULTILINE)
        assert len(heads) == sum(found[0] == page for found in FOUND) > 0
    networks = re.findall(r"^network:", (ROOT / PAGES[0]).read_text(), re.MULTILINE)
    assert len(networks) == sum(found[0] == PAGES[0] for found in FOUND)
