"""Every example network gives what its folder says it gives."""

import csv
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from aurora import Network, Settings, from_text, prepare_stored, read_network, run, start, to_text
from aurora.engine.binding import Bound
from aurora.engine.local import LocalRun
from aurora.engine.sinks.encode import csv_header, to_csv

EXAMPLES = Path(__file__).parent.parent / "examples"
FOLDERS = sorted(path.parent.name for path in EXAMPLES.glob("*/network.yaml"))
# Queries alone, for networks that are elsewhere.
QUERIES = ["24_paid_over_100"]


def sources_of(folder: Path, network: Network) -> dict[str, str]:
    """A file for each input; stored sets know their own."""
    inputs = network.inputs.items()
    return {name: f"csv:{folder / name}.csv" for name, entry in inputs if not (entry.stored or entry.point)}


def outputs_of(folder: Path, network: Network, out: Path, settings: Settings) -> dict[str, str]:
    """Runs a network on the files of its folder; gives the text of each output file."""
    sinks = {name: f"csv:{out / name}.csv" for name in network.outputs}
    sources = sources_of(folder, network)
    result = run(network, sources, sinks, settings)
    assert result.ended and result.totals.rejected == 0
    return {name: (out / f"{name}.csv").read_text() for name in network.outputs}


def expected(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in (folder / "expected").glob("*.csv")}


def outputs_here(folder: Path, network: Network, out: Path, settings: Settings) -> dict[str, str]:
    """As `outputs_of`, with everything but Spark."""
    sources = prepare_stored(network, sources_of(folder, network), out / "stored")
    sinks = {name: f"csv:{out / name}.csv" for name in network.outputs}
    with Bound.of(network, sources, sinks, settings) as bound:
        ran = LocalRun(bound.job.plan, bound.job.buckets)
        ran.read(bound.admission.sources, [settings.batch])
        assert ran.ended and ran.rejects == []
    texts = {}
    for name, output in network.outputs.items():
        lines = b"".join(to_csv(train.rows) for train in ran.outputs[name])
        texts[name] = (csv_header(network.schema(output.port).arrow()) + lines).decode()
    return texts


@pytest.mark.parametrize("name", FOLDERS)
def test_example(name: str, tmp_path: Path) -> None:
    """Whole, and cut into small batches."""
    network = read_network(EXAMPLES / name / "network.yaml")
    for settings in (
        Settings(partitions=2),
        Settings(partitions=1, batch=3),
        Settings(partitions=3, batch=1),
    ):
        assert outputs_here(EXAMPLES / name, network, tmp_path, settings) == expected(EXAMPLES / name)


# Among them a kernel of their own, relations, a table, a stored set, and several inputs.
@pytest.mark.parametrize("name", ["05_border_watch", "08_accounts", "11_badges", "23_spare_parts"])
def test_example_on_spark(name: str, spark: SparkSession, tmp_path: Path) -> None:
    network = read_network(EXAMPLES / name / "network.yaml")
    found = outputs_of(EXAMPLES / name, network, tmp_path, Settings(partitions=2))
    assert found == expected(EXAMPLES / name)


def test_a_query_on_an_example_that_runs(spark: SparkSession, tmp_path: Path) -> None:
    """It is attached in the middle; its rows are those of the whole."""
    folder = EXAMPLES / "22_cold_store"
    network = read_network(folder / "network.yaml")
    settings = Settings(partitions=2, batch=2, home=str(tmp_path / "home"))
    with start(network, sources_of(folder, network), {}, settings) as running:
        running.pause()
        query = read_network(folder / "fish.yaml", running.schemas)
        assert running.attach(query, {"rises": f"csv:{tmp_path / 'rises.csv'}"}) == "fish"
        running.resume()
        assert running.wait().ended
        assert running.peek("now").to_pylist() == [
            {"Room": "meat", "Time": 120, "Heat": 6.0},
            {"Room": "fish", "Time": 120, "Heat": 2.0},
        ]
    rises = (tmp_path / "rises.csv").read_text().splitlines()
    assert rises == ["Time,Rise", "0,0.0", "30,0.5", "60,0.5", "90,-0.5", "120,-1.0"]


@pytest.mark.parametrize("name", FOLDERS)
def test_example_survives_the_round_trip(name: str) -> None:
    network = read_network(EXAMPLES / name / "network.yaml")
    assert from_text(to_text(network)) == network


def test_every_folder_is_an_example() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {*FOLDERS, *QUERIES} == folders
    listed = (EXAMPLES / "README.md").read_text()
    assert [name for name in [*FOLDERS, *QUERIES] if f"| `{name}` |" not in listed] == []


def loaded(path: Path) -> ModuleType:
    """A script of an example as a module, with its folder on the path as when it is run."""
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def test_border_watch_in_python_is_the_network_of_the_text() -> None:
    folder = EXAMPLES / "05_border_watch"
    assert loaded(folder / "network.py").border_watch() == read_network(folder / "network.yaml")


def test_accounts_in_python_are_the_network_of_the_text() -> None:
    folder = EXAMPLES / "08_accounts"
    network = loaded(folder / "network.py").accounts()
    assert network == read_network(folder / "network.yaml")
    assert from_text(to_text(network)) == network


def test_what_make_run_shows(spark: SparkSession, tmp_path: Path) -> None:
    script = loaded(EXAMPLES / "border_run.py")
    script.write_reports(tmp_path / "reports.csv", 200_000)
    result = script.run_border(tmp_path / "reports.csv", tmp_path, Settings(partitions=2))
    with open(tmp_path / "reports.csv", newline="") as file:
        reports = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    over = [report for report in reports if report["Pos"] >= 30]
    count = Counter(report["Time"] for report in over)
    far: dict[int, int] = {}
    for report in over:
        far[report["Time"]] = max(report["Pos"], far.get(report["Time"], 30))
    alarms = [f"{time},{count[time]},{far[time]}" for time in sorted(count) if count[time] >= 140]
    assert alarms and (tmp_path / "alarms.csv").read_text().splitlines() == ["Time,Cnt,Farthest", *alarms]
    patrols = {(report["Sid"], report["Time"] // 60) for report in reports}
    assert result.totals.rows == {"alarms": len(alarms), "crossings": len(over), "patrols": len(patrols)}
    assert result.totals.discarded == {}


MANUAL = (EXAMPLES.parent / "docs" / "networks.md").read_text()


def tables(described: str) -> dict[str, list[list[str]]]:
    """The rows that tables of the manual show, by the file that stands at the head of a column."""
    found: dict[str, list[list[str]]] = {}
    titles: list[str] = []
    for line in described.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        names = [cell.partition(":")[0] for cell in cells]
        if names[0].endswith(".csv"):
            titles = names
            found |= {name: [] for name in names if name}
        elif titles and line.startswith("| "):
            for title, cell in zip(titles, cells, strict=True):
                if title:
                    found[title].append(["" if value == "null" else value for value in cell.split(", ")])
    return found


@pytest.mark.parametrize(
    ("name", "behind"),
    [
        ("29_orders_and_rates", "By time, both sides have"),
        ("30_inputs_in_order", "- The fields are whole numbers"),
    ],
)
def test_the_tables_in_the_manual_are_those_of_the_example(name: str, behind: str) -> None:
    network = read_network(EXAMPLES / name / "network.yaml")
    described = MANUAL[MANUAL.index(f"network: {network.name}\n") : MANUAL.index(behind)]
    assert to_text(from_text(described.partition("```")[0])) == to_text(network)
    shown = tables(described)
    assert shown.keys() & {f"{output}.csv" for output in network.outputs}
    for file, rows in shown.items():
        given = file.removesuffix(".csv") in network.inputs
        text = (EXAMPLES / name / ("" if given else "expected") / file).read_text()
        _, *found = csv.reader(text.splitlines())
        assert [[value.removeprefix("2026-11-16 ") for value in row] for row in found] == rows, file


@pytest.mark.parametrize(
    ("name", "warned"), [("16_tolls_as_of", 2), ("29_orders_and_rates", 0), ("30_inputs_in_order", 0)]
)
def test_a_run_warns_of_files_that_race(
    name: str, warned: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    network = read_network(EXAMPLES / name / "network.yaml")
    outputs_here(EXAMPLES / name, network, tmp_path, Settings(partitions=1))
    said = [record.getMessage() for record in caplog.records if "joins as of" in record.getMessage()]
    assert len(said) == warned
    if warned:
        assert said[0] == (
            "box priced joins as of by arrival: entries and tolls are files, which are read side by side, row by row, "
            "so that a row of entries may meet one of tolls that is later than it; for the latest row by time write "
            "asof: {left: Field, right: Field}, or give both inputs an order: Field, by which they are merged"
        )
