"""`aurora check --home`: a query is checked on the points of a network, which may be stopped."""

from pathlib import Path

import pytest

from aurora import from_text
from aurora.adapt.drawing import describe_arcs
from aurora.history.home import Home

NETWORK = """network: border
inputs: {reports: {schema: "Sid int, Time int, Pos int"}, who: {point: people}}
boxes:
  over: {filter: ["Pos >= 30"], from: reports}
points:
  recent: {from: over, keep: 1h}
  people: {stored: "csv:people.csv", key: [Sid], schema: "Sid int, Name string"}
outputs:
  latest: {from: over, keep: latest, key: [Sid]}
"""
QUERY = """network: near
inputs: {rows: {point: recent}, people: {point: people, static: true}}
boxes:
  near: {filter: ["Pos < 50"], from: rows}
  named: {join: "left.Sid = right.Sid", left: near, right: people}
outputs: {out: {from: named}}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home of a network that is stopped."""
    monkeypatch.chdir(tmp_path)
    found = Home.of("home")
    found.checkpoint.mkdir(parents=True)
    found.write_network(describe_arcs(from_text(NETWORK)))
    (tmp_path / "near.yaml").write_text(QUERY)
    return found


def test_a_query_is_checked_on_the_points_of_a_home(aurora, home: Home) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("check", "near.yaml", "--home", "home")
    assert ended.status == 0 and ended.err == ""
    assert ended.out.splitlines() == [
        "network near",
        "  input rows <- point recent (Sid int, Time int, Pos int)",
        "  table people <- point people (Sid int, Name string)",
        "  filter    near.1 <- rows (Sid int, Time int, Pos int)",
        "  filter    near.rest <- rows (Sid int, Time int, Pos int)",
        "  join      named <- near.1, people (Sid int, Time int, Pos int, Sid_right int, Name string)",
        "  output    out <- named.1 (Sid int, Time int, Pos int, Sid_right int, Name string)",
        "ok: 2 boxes, 2 inputs, 1 output",
    ]
    # Without the home nobody knows the fields.
    assert "is a query that takes the point recent of a running one" in aurora("check", "near.yaml").err


def test_a_home_shows_its_points_and_streams(aurora, home: Home) -> None:  # type: ignore[no-untyped-def]
    points = [f"  point  {name} ({schema})" for name, schema in from_text(NETWORK).point_schemas().items()]
    assert set(points) == {
        "  point  people (Sid int, Name string)",
        "  point  recent (Sid int, Time int, Pos int)",
        "  point  latest (Sid int, Time int, Pos int)",
    }
    ended = aurora("check", "--home", "home")
    assert ended.status == 0 and ended.err == ""
    assert ended.out.splitlines() == [
        "network border",
        *points,
        "  stream reports (Sid int, Time int, Pos int)",
        "  stream who (Sid int, Name string)",
        "  stream over.1 (Sid int, Time int, Pos int)",
        "  stream over.rest (Sid int, Time int, Pos int)",
    ]


def test_a_home_whose_run_was_killed_shows_the_values_of_its_parameters(aurora, home: Home) -> None:  # type: ignore[no-untyped-def]
    assert "parameters" not in home.last_status()
    home.write_network(
        describe_arcs(from_text("parameters: {least: 30}\n" + NETWORK, parameters={"least": 40}))
    )
    assert home.last_status()["parameters"] == {"least": 40}
    assert "parameters: least 40" in aurora("status", "home").out


def test_what_would_not_attach_is_one_line(aurora, home: Home, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "empty").mkdir()
    Home.of("old").checkpoint.mkdir(parents=True)
    for was, now, told in (
        (
            "point: recent",
            "point: resent",
            "input rows: there is no point resent (did you mean recent?); there are",
        ),
        ("Pos < 50", "Poss < 50", "box near (from rows): unknown field 'Poss' (did you mean Pos?)"),
        ("{point: recent}", '{schema: "Pos int, Sid int"}', "input rows: the inputs of a query are points"),
        (
            "{point: recent}",
            '{point: recent, schema: "Pos string"}',
            "input rows: field Pos is int at the point",
        ),
    ):
        (tmp_path / "wrong.yaml").write_text(QUERY.replace(was, now))
        ended = aurora("check", "wrong.yaml", "--home", "home")
        assert ended.status == 1 and ended.err.startswith(f"error: {told}"), ended.err
        assert ended.out == "" and ended.err.count("\n") == 1
    for arguments, told in (
        (["--home", "empty"], f"{tmp_path}/empty is not the home of a network; start one with"),
        (
            ["--home", "old"],
            f"{tmp_path}/old holds no schemas, because no run of this version has begun there",
        ),
    ):
        ended = aurora("check", *arguments)
        assert ended.status == 1 and ended.err.startswith(f"error: {told}"), ended.err
