"""What a run reads and writes is compared by what the paths lead to, before anything is written."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from aurora import AuroraError, Cursor, Paced, Piece, Settings, TextSink, read_network
from aurora.engine.binding import Bound
from tests.engine.without_spark import BASE, ZONED, base, files, run_here

ROWS = "Sid,Time,Pos\n1,1,34\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a network, a table, a file and a folder of input, and links to them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "zoned.yaml").write_text(ZONED)
    (tmp_path / "zones.csv").write_text("Low,Zone\n34,a\n")
    (tmp_path / "same.csv").write_text(ROWS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(ROWS)
    (tmp_path / "out").mkdir()
    (tmp_path / "link.csv").symlink_to("same.csv")
    (tmp_path / "linked").symlink_to("in")
    (tmp_path / "one.csv").symlink_to("two.csv")
    os.link("same.csv", "hard.csv")
    os.link("in/a.csv", "out.csv")
    return tmp_path


def bind(
    source: object, sinks: dict[str, object], settings: Settings | None = None, net: str = "base.yaml"
) -> None:
    tables = {"zones": "csv:zones.csv"} if net == "zoned.yaml" else {}
    with Bound.of(read_network(net), {"r": source, **tables}, sinks, settings or Settings()):
        pass


WRONG: list[tuple[str, dict[str, str], str]] = [
    ("csv:same.csv", {"far": "csv:same.csv"}, r"source r reads \S+same.csv, and sink far writes \S+same.csv"),
    ("csv:./in/../same.csv", {"far": "csv:same.csv"}, r"source r reads .* and sink far writes"),
    ("csv:same.csv?header=true", {"far": "csv:same.csv"}, r"source r reads \S+same.csv, and sink far writes"),
    ("csv:link.csv", {"far": "csv:same.csv"}, r"source r reads \S+link.csv, and sink far writes \S+same.csv"),
    ("csv:same.csv", {"far": "csv:link.csv"}, r"source r reads \S+same.csv, and sink far writes"),
    ("csv:hard.csv", {"far": "csv:same.csv"}, r"source r reads \S+hard.csv, and sink far writes"),
    ("csv:in", {"far": "csv:in/far.csv"}, r"source r reads \S+in, and sink far writes \S+far.csv"),
    ("csv:linked", {"far": "csv:in/far.csv"}, r"source r reads \S+linked, and sink far writes"),
    ("csv:in", {"far": "csv:out.csv"}, r"source r reads \S+in, and sink far writes \S+out.csv"),
    ("csv:in/*.csv", {"far": "csv:in/far.csv"}, r"source r reads \S+\*.csv, and sink far writes"),
    ("csv:linked/*.csv", {"far": "csv:in/far.csv"}, r"source r reads \S+\*.csv, and sink far writes"),
    ("csv:in", {"far": "csv:in"}, r"source r reads \S+in, and sink far writes \S+in/"),
    ("csv:in/a.csv", {"far": "csv:in"}, r"source r reads \S+a.csv, which lies in the folder of sink far"),
    ("csv:in/*.csv", {"far": "csv:in"}, r"source r reads \S+, which lies in the folder of sink far"),
    ("csv:same.csv", {"far": "csv:d", "near": "csv:d"}, r"sink far and sink near both write \S+/d/: give each its own"),
    ("csv:same.csv", {"far": "csv:x.csv", "near": "csv:x.csv"}, r"sink far and sink near both write \S+x.csv"),
    ("csv:same.csv", {"far": "csv:one.csv", "near": "csv:two.csv"}, r"sink far and sink near both write \S+two.csv"),
    ("csv:same.csv", {"far": "csv:d", "near": "csv:d/x.csv"}, r"sink near writes \S+d/x.csv, which lies in the folder"),
    ("csv:same.csv", {"far": "csv:x.csv", "near": "csv:x.csv/d"}, r"sink near writes \S+, which lies in the folder"),
    ("csv:same.csv", {"far": "csv:out/rejects.csv"}, r"sink far and the file of rejects \(--rejects\) both write"),
    ("csv:same.csv", {"far": "csv:base.yaml/x.csv"}, r"sink far: \S+base.yaml is a file"),
    ("csv:s3://bucket/r.csv", {"far": "csv:x.csv"}, r"source r: s3://bucket/r.csv is not a local path, and only local"),
    ("csv:https://x.org/r.csv", {"far": "csv:x.csv"}, r"source r: \S+ is not a local path, .*fetch the file first"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "sinks", "told"), WRONG)
def test_one_path_for_two_things_is_one_line(
    desk: Path, source: str, sinks: dict[str, object], told: str
) -> None:
    before = files(desk)
    with pytest.raises(AuroraError, match=rf"^{told}[^\n]*$"):
        bind(source, sinks)
    assert files(desk) == before


def test_tables_networks_rejects_and_checkpoints_count_too(desk: Path) -> None:
    before = files(desk)
    (desk / "net.csv").symlink_to("base.yaml")
    with pytest.raises(AuroraError, match=r"table zones reads \S+zones.csv, and sink out writes"):
        bind("csv:same.csv", {"out": "csv:zones.csv"}, net="zoned.yaml")
    with pytest.raises(AuroraError, match=r"the network reads \S+base.yaml, and sink far writes"):
        bind("csv:same.csv", {"far": "csv:net.csv"})
    with pytest.raises(AuroraError, match=r"holds something else"):
        bind("csv:same.csv", {"far": "csv:x.csv"}, Settings(rejects="csv:same.csv"))
    with pytest.raises(AuroraError, match=r"sink far and the file of rejects \(--rejects\) both write"):
        bind("csv:same.csv", {"far": "csv:x.csv"}, Settings(rejects="csv:x.csv"))
    with pytest.raises(
        AuroraError,
        match=r"the file of rejects \(--rejects\) writes \S+, which lies in the folder of sink far",
    ):
        bind("csv:same.csv", {"far": "csv:d"}, Settings(rejects="csv:d/bad.csv"))
    with pytest.raises(AuroraError, match=r"sink far writes \S+, which lies in the folder of the checkpoint"):
        bind("csv:same.csv", {"far": "csv:kept/far.csv"}, Settings(checkpoint="kept"))
    with pytest.raises(AuroraError, match=r"the checkpoint writes \S+, which lies in the folder of sink far"):
        bind("csv:same.csv", {"far": "csv:d"}, Settings(checkpoint="d/kept"))
    (desk / "net.csv").unlink()
    assert files(desk) == before


def test_what_is_apart_is_allowed(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_here(base(), {"r": "csv:same.csv"}, {"far": "csv:out/far.csv", "near": "csv:out/near.csv"})
    assert [(desk / "out" / f"{name}.csv").read_text() for name in ("far", "near")] == [
        ROWS,
        "Sid,Time,Pos\n",
    ]
    elsewhere = Settings(rejects="csv:bad.csv", partitions=1)
    run_here(base(), {"r": "csv:in"}, {"far": "csv:in/far"}, elsewhere)
    assert [part.read_text() for part in (desk / "in" / "far").glob("*.csv")] == [ROWS]
    run_here(base(), {"r": "csv:in/*.csv"}, {"far": "json:in/far.jsonl"}, elsewhere)
    assert (desk / "in" / "far.jsonl").read_text() == '{"Sid": 1, "Time": 1, "Pos": 34}\n'
    run_here(base(), {"r": "csv:same.csv"}, {"far": "console", "near": "console"})
    assert capsys.readouterr().out.count("34") == 1
    assert (desk / "same.csv").read_text() == (desk / "in" / "a.csv").read_text() == ROWS


def test_files_are_shared_on_purpose_alone(desk: Path) -> None:
    def sinks(shared: bool) -> dict[str, object]:
        one = TextSink("both.txt", lambda rows, _: b"far\n", shared=True)
        return {"far": one, "near": TextSink("both.txt", lambda rows, _: b"near\n", shared=shared)}

    bind("csv:same.csv", sinks(shared=True))
    with pytest.raises(
        AuroraError, match=r"sink far and sink near both write \S+both.txt: give each its own"
    ):
        bind("csv:same.csv", sinks(shared=False))


def test_a_table_that_is_too_large_for_every_task_is_refused(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.engine.binding.MOST_TABLE_BYTES", 1)
    with pytest.raises(AuroraError, match=r"table zones has more than .* MB, and every task needs"):
        bind("csv:same.csv", {"out": "csv:z.csv"}, net="zoned.yaml")


@dataclass(frozen=True)
class Own:
    """A source of the user's that says what it reads."""

    reads: str | tuple[Path | str, ...]
    live: bool = False

    def begin(self) -> Cursor:
        return {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        return cursor

    def finished(self, cursor: Cursor) -> bool:
        return True

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        return []


@pytest.mark.parametrize(
    "source",
    [
        Own("same.csv"),
        Own(("other.csv", Path("link.csv"))),
        Own(("*.csv",)),
        Own("."),
        Paced(Own("same.csv"), 10),
    ],
)
def test_a_source_of_ones_own_says_what_it_reads(desk: Path, source: object) -> None:
    before = files(desk)
    with pytest.raises(AuroraError, match=r"^source r reads \S+, and sink far writes \S+same.csv: choose"):
        bind(source, {"far": "csv:same.csv"})
    assert files(desk) == before
    bind(source, {"far": "csv:out/far.csv"})


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("same.csv", r"source r reads \S+same.csv, and Spark's log \(--spark-log\) writes \S+same.csv"),
        ("link.csv", r"source r reads \S+same.csv, and Spark's log \(--spark-log\) writes"),
        ("base.yaml", r"the network reads \S+base.yaml, and Spark's log"),
        ("out/far.csv", r"sink far and Spark's log \(--spark-log\) both write"),
        ("out/rejects.csv", r"the file of rejects \(--rejects\) and Spark's log \(--spark-log\) both write"),
        ("kept/spark.log", r"Spark's log \(--spark-log\) writes \S+, which lies in the folder of the checkpoint"),
    ],
)  # fmt: skip
def test_the_log_of_spark_is_a_file_like_others(desk: Path, log: str, told: str) -> None:
    before = files(desk)
    with pytest.raises(AuroraError, match=rf"^{told}[^\n]*$"):
        bind("csv:same.csv", {"far": "csv:out/far.csv"}, Settings(log=log, checkpoint="kept"))
    assert files(desk) == before
