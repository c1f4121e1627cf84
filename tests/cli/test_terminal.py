"""What comes from outside is shown on a terminal, and never obeyed by it: escape sequences, markup, hidden marks."""

import io
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from rich.console import Console

from aurora import AuroraError, Network, Schema, from_text
from aurora.characters import printable
from aurora.cli import telling
from aurora.cli.bars import open_bar
from aurora.cli.status_table import show_status
from aurora.engine.sinks.function import Printer

ESCAPE = "\x1b]0;pwned\x07\x1b[2J"


def terminal(monkeypatch: pytest.MonkeyPatch, is_one: bool = True) -> io.BytesIO:
    """Stdout, as a terminal or as a pipe; gives what is written there."""
    written = io.BytesIO()
    stdout = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    monkeypatch.setattr(stdout, "isatty", lambda: is_one)
    monkeypatch.setattr(sys, "stdout", stdout)
    return written


@pytest.mark.parametrize("name", ["a\x1bb", "a\u202eb", "a\ud800", "a\x9bb", "a\u2066b", "a\x00b", "a\x7fb"])
def test_no_name_holds_hidden_characters(name: str) -> None:
    network = Network("n")
    stream = network.input("a", "A int")
    for attempt in (
        lambda: Network(name),
        lambda: network.input(name, "A int"),
        lambda: stream.filter("A > 1", name=name),
        lambda: network.output(name, stream),
        lambda: network.point(name, stream, keep=1),
        lambda: network.input("b", "A int", check={name: "A > 1"}),
        lambda: network.user(print, inputs={"x": stream}, outputs={name: "A int"}, name="u"),
        lambda: stream.map({name: "A"}, name="m"),
        lambda: Schema.parse(f"`{name}` int"),
        lambda: Schema.parse(f"a struct<`{name}`: int>"),
        lambda: Schema([(name, pa.int32())]),
        lambda: Schema([("a", pa.list_(pa.struct([("b" if "\ud800" in name else name, pa.int32())])))]),
    )[: -1 if "\ud800" in name else None]:
        with pytest.raises(AuroraError) as fault:
            attempt()
        assert "that is not shown; leave it out" in str(fault.value), str(fault.value)


def test_groups_and_files_have_no_such_names_either() -> None:
    boxes = 'inputs: {a: {schema: "A int"}}\nboxes: {"g\\e": {group: {b: {filter: [A > 1], from: a}}}}\n'
    with pytest.raises(AuroraError, match="that is not shown"):
        from_text(f"{boxes}outputs: {{o: a}}\n")
    with pytest.raises(AuroraError, match="that is not shown"):
        from_text('network: "\\e]0;pwned\\a"\ninputs: {a: {schema: "A int"}}\noutputs: {o: a}\n')


def test_letters_of_all_languages_are_names() -> None:
    schema = Schema.parse("`größe` int, `温度` int, `عدد` int, `👩‍🔧` int")
    assert printable(", ".join(schema.names)) == ", ".join(schema.names)


def test_messages_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with telling.listen():
        telling.tell_fault(f"the server says {ESCAPE}")
        telling.warn("two\n\tlines")
    assert written.getvalue() == ("error: the server says \\x1b]0;pwned\\x07\\x1b[2J\ntwo\n\tlines\n")


def test_data_is_written_out_on_a_terminal_and_stays_data_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.record_batch({"S": [ESCAPE]})
    for is_one, shown in ((True, printable(ESCAPE)), (False, ESCAPE)):
        written = terminal(monkeypatch, is_one)
        telling.print_data(f"{ESCAPE}\n")
        Printer("out")(rows)
        assert written.getvalue().decode() == f"{shown}\nout: {shown}\n"
        monkeypatch.undo()


def test_status_shows_names_as_they_are() -> None:
    link = f"[link=http://evil]x[/link]{ESCAPE}"
    figures = {"rate": 1.0, "waiting": 0}
    found = {
        "state": "running",
        "parameters": {"[/p]": f"[/x]{ESCAPE}", "loud": True, "rate": 5},
        "inputs": {"[/x]": figures, link: figures},
        "boxes": {"\\[/x]": {"taken": 1}},
        "points": {"[bold]": {"keep": "[/x]"}},
        "queries": {"[/q]": {"state": "failed[/x]", "fault": f"[/x]{ESCAPE}"}},
        "troubles": [f"[/x] falls behind{ESCAPE}"],
    }
    written = io.StringIO()
    Console(file=written, width=200, force_terminal=True).print(show_status(found))
    shown = written.getvalue()
    assert "\x1b]" not in shown and "\x1b[2J" not in shown
    assert "parameters: [/p] [/x]\\x1b]0;pwned\\x07\\x1b[2J, loud true, rate 5" in shown
    for text in (
        "[/x]",
        "[link=http://evil]x[/link]\\x1b]0;pwned",
        "\\[/x]",
        "[bold]",
        "failed[/x]",
        "[/x] falls behind",
    ):
        assert text in shown


def test_bars_take_no_markup() -> None:
    with open_bar() as bar:
        bar.add_task("storing [/x]: 3 rows")
        shown = io.StringIO()
        Console(file=shown, force_terminal=True, width=120).print(bar.get_renderable())
    assert "storing [/x]: 3 rows" in shown.getvalue()


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_show_takes_no_markup(aurora, tmp_path: Path, form: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "x.csv").write_text("[/x],b\n\\[/x],[bold]\n[link=http://evil]y[/link],1\n")
    ended = aurora("show", tmp_path / "x.csv", "--format", form)
    assert ended.status == 0 and ended.err == ""
    for text in ("[/x]", "[bold]", "[link=http://evil]y[/link]"):
        assert text in ended.out


def test_a_picture_is_well_formed() -> None:
    network = Network('<script>"&')
    stream = network.input('<script>alert("1")', "`<b>` int, `]]>` int")
    network.output("[x]&", stream.filter("`<b>` > 1 AND '\x1b' <> '\x00'", name='"onload:"x'))
    network.input("b", "A int").filter("`A` = 1 OR '\uffff' = 'x'", name="c")
    assert ElementTree.fromstring(network.svg()).tag.endswith("svg")
