"""Data folders: the formats, and what is left when the work does not end."""

import errno
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aurora.cli.main import main
from aurora.errors import AuroraError
from aurora.nexmark.firehose import Settings, events
from aurora.nexmark.firehose import ahead as ahead_of
from aurora.nexmark.firehose.folder import generate
from aurora.nexmark.firehose.formats import json_lines
from aurora.nexmark.firehose.making import facts_of

STANDARD = Settings("standard", seed=2, late=0.05)
DRAFT = Settings("draft", seed=2, bid_streams=2)
NUMBER = 12_000


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_of, "CHUNK", 1700)


def text_of(folder: Path, ending: str = "jsonl") -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"events-*.{ending}")))


@pytest.mark.parametrize("per_file", [1_000_000, 5000, 1700])
def test_json_is_the_same_however_it_is_cut(tmp_path: Path, per_file: int) -> None:
    told: list[int] = []
    summary = generate(STANDARD, NUMBER, tmp_path / "out", "json", per_file, told.append)
    assert text_of(tmp_path / "out") == bytes(json_lines(facts_of(STANDARD, 0, NUMBER)))
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    files = [f"events-{number:05d}.jsonl" for number in range(-(-NUMBER // per_file))]
    assert names == sorted(["categories.csv", "generation.json", *files])
    assert json.loads((tmp_path / "out" / "generation.json").read_text()) == summary
    assert summary["counts"] == {"person": 240, "auction": 720, "bid": 11_040, "closed_auction": 0}
    assert summary["seed"] == 2 and summary["pace"] == "10000" and summary["late"] == 0.05
    assert told == sorted(told) and told[-1] == NUMBER


@pytest.mark.parametrize("settings", [STANDARD, DRAFT])
def test_parquet_has_the_same_rows(tmp_path: Path, settings: Settings) -> None:
    generate(settings, NUMBER, tmp_path, "parquet", 5000)
    tables = [pq.read_table(path) for path in sorted(tmp_path.glob("events-*.parquet"))]
    assert len(tables) == 3
    assert pa.concat_tables(tables).to_pylist() == events(settings, 0, NUMBER).to_pylist()


def test_xml_has_the_entities_of_the_draft(tmp_path: Path) -> None:
    generate(DRAFT, NUMBER, tmp_path, "xml", 5000)
    found: list[Any] = []
    for path in sorted(tmp_path.glob("events-*.xml")):
        root = ElementTree.parse(path).getroot()
        assert root.tag == "site"
        found += list(root)
    rows = [event for row in events(DRAFT, 0, NUMBER).to_pylist() for event in row.items() if event[1]]
    entities = iter(found)
    for kind, event in rows:
        entity = next(entities)
        if kind == "auction":
            assert (entity.tag, entity.get("id")) == ("item", str(event["id"]))
            assert entity.findtext("categoryId") == str(event["category"])
            entity = next(entities)
            assert entity.tag == "open_auction" and entity.findtext("sellerId") == str(event["seller"])
            assert entity.findtext("end") == event["expires"].strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        elif kind == "person":
            assert (entity.tag, entity.get("id")) == ("person", str(event["id"]))
            assert entity.findtext("state") == event["state"] and entity.findtext("name") == event["name"]
        elif kind == "bid":
            assert entity.tag == "bid" and entity.findtext("price") == str(event["price"])
        else:
            assert entity.tag == "closed_auction" and entity.findtext("itemId") == str(event["auction"])
            assert entity.findtext("buyerId") == ("" if event["buyer"] is None else str(event["buyer"]))
    assert next(entities, None) is None


def test_each_bid_stream_has_a_folder_too(tmp_path: Path) -> None:
    generate(DRAFT, NUMBER, tmp_path, "json", 5000)
    assert text_of(tmp_path) == bytes(json_lines(facts_of(DRAFT, 0, NUMBER)))
    bids = [line for line in text_of(tmp_path).splitlines() if line.startswith(b'{"bid"')]
    for number in (0, 1):
        assert text_of(tmp_path / f"bid-{number}").splitlines() == bids[number::2]


@pytest.mark.parametrize("name", ["events-2024.jsonl", "events-00000.txt", "bid-notes", "bid-0"])
def test_what_is_not_generated_is_not_removed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(AuroraError, match=f"holds {name}, which is not from aurora nexmark generate"):
        generate(STANDARD, 500, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "mine"


def test_other_events_take_the_place_of_old_ones(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    generate(DRAFT, NUMBER, tmp_path, "json", 1000)
    generate(STANDARD, 500, tmp_path, "parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "categories.csv",
        "events-00000.parquet",
        "generation.json",
        "notes.txt",
    ]


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_what_does_not_end_leaves_nothing(tmp_path: Path, fault: BaseException) -> None:
    def stop(done: int) -> None:
        if done > NUMBER // 2:
            raise fault

    generate(STANDARD, 100, tmp_path / "old")
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    for out in ("new", "old"):
        with pytest.raises((KeyboardInterrupt, AuroraError)) as raised:
            generate(STANDARD, NUMBER, tmp_path / out, "json", 3000, stop)
        if isinstance(fault, OSError):
            assert "No space left on device; make room" in str(raised.value)
    assert not (tmp_path / "new").exists()
    assert {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before


def command(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["aurora", "nexmark", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    options = ["--profile", "draft", "--scale", "medium", "--events", "8000", "--seed", "7", "--out", out]
    assert command("generate", *options, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == (
        f"{out}: 8,000 events (72 person, 711 auction, 7,106 bid, 111 closed_auction)\n"
    )
    summary = json.loads((tmp_path / "out" / "generation.json").read_text())
    assert (summary["pace"], summary["bid_streams"], summary["categories"]) == ("121000", 4, 3000)
    assert len((tmp_path / "out" / "categories.csv").read_text().splitlines()) == 3001


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "how many events? Give --events, or a --scale"),
        (("--events", "0"), "--events must be at least 1, not 0"),
        (("--events", "9", "--profile", "beam"), "there is no profile 'beam': give draft or standard"),
        (("--events", "9", "--format", "csv"), "there is no format 'csv': give json, parquet, xml"),
        (("--events", "9", "--format", "xml"), "--format xml is for --profile draft"),
        (("--events", "9", "--rate", "fast"), "cannot read --rate fast: give events/s"),
        (("--events", "9", "--late", "2"), "--late is a share of the events between 0 and 0.5, not 2"),
        (("--events", "9", "--bid-streams", "4"), "--bid-streams is for --profile draft"),
        (("--events", "9", "--events-per-file", "0"), "--events-per-file must be at least 1"),
        (("--scale", "huge"), "there is no scale 'huge': give small, medium, large"),
    ],
)
def test_bad_values_are_one_line(
    tmp_path: Path,
    options: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert command("generate", *options, "--out", str(out), monkeypatch=monkeypatch) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("error: ") and said in printed.err
    assert printed.err.count("\n") == 1 and not out.exists()


def test_an_out_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuroraError, match=r"cannot write to --out .*choose another folder"):
        generate(STANDARD, 10, tmp_path / "file")
