"""Texts that no person writes: each is refused in one line, and soon."""

import sys
import threading
from pathlib import Path

import pytest

from aurora import AuroraError, Schema, from_text, read_network
from aurora.algebra.expressions import Expression
from aurora.algebra.expressions.dialect import DEEPEST, typed
from aurora.errors import did_you_mean
from aurora.network.plain_yaml import LONGEST, load_yaml

SCHEMA = Schema.parse("S string, A int, T timestamp, L array<int>")
MANY = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        MANY, f"-{MANY}", "9" * 350, f"{MANY}L", f"{MANY}D", f"1e{MANY}", f"T + INTERVAL {MANY} DAYS",
        f"T + INTERVAL '{MANY}' DAY", f"S RLIKE 'a{{{MANY}}}'", f"round(A, {MANY})", f"L[{MANY}]",
        f"CAST(A AS decimal({MANY},1))", f"T = TIMESTAMP '{MANY}'", f"T = DATE '{MANY}-01-01'",
        "CAST(NULL AS " + "array<" * 3000 + "int" + ">" * 3000 + ")", "S = '\ud800'", "`\ud800` = 1",
    ],
)  # fmt: skip
def test_an_expression_that_nobody_writes_is_a_fault(text: str) -> None:
    with pytest.raises(AuroraError):
        Expression.parse(text, SCHEMA)


def test_digits_in_a_text_are_text() -> None:
    assert Expression.parse(f"S = '{MANY}'", SCHEMA) and Expression.parse(f'S = "{MANY}"', SCHEMA)


@pytest.mark.parametrize("kind", ["array<", "struct<a:", "map<string,"])
def test_deep_types_are_a_fault(kind: str) -> None:
    with pytest.raises(AuroraError, match="nested more than 50 levels deep"):
        Schema.parse(f"a {kind * 3000}int{'>' * 3000}")
    assert Schema.parse(f"a {kind * 50}int{'>' * 50}")
    beside = ", ".join(f"x{i} {kind}int>" for i in range(100))
    assert len(Schema.parse(beside)) == 100


def test_a_decimal_with_many_digits_is_a_fault() -> None:
    with pytest.raises(AuroraError, match="unknown type"):
        Schema.parse(f"a decimal({MANY},1)")


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(AuroraError, match="is half of a character"):
        from_text('network: "\\ud800"\n')
    with pytest.raises(AuroraError, match="is half of a character"):
        from_text('inputs: {"a\\udc00": {schema: "A int"}}\n')


def test_a_long_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_bytes(b"#" * (LONGEST + 1))
    with pytest.raises(AuroraError, match="more than 1,048,576 bytes"):
        read_network(path)
    with pytest.raises(AuroraError, match="1,048,577 characters are too many"):
        from_text("#" * (LONGEST + 1))
    path.write_bytes("inputs: {a: {schema: 'Ä int'}}\r\noutputs: {o: a}\r\n".encode())
    assert read_network(path).inputs["a"].schema.names == ("Ä",)


def test_values_are_counted_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    compose = load_yaml.__globals__["_Reader"].compose_scalar_node
    monkeypatch.setattr(
        load_yaml.__globals__["_Reader"],
        "compose_scalar_node",
        lambda *arguments: read.append(1) or compose(*arguments),
    )
    monkeypatch.setitem(load_yaml.__globals__, "MOST_NODES", 100)
    with pytest.raises(AuroraError, match="line 100: not valid YAML: more than 100 values"):
        load_yaml("- a\n" * 100_000, "n")
    assert len(read) == 99


def test_names_are_compared_with_few_others() -> None:
    names = [f"box{number}" for number in range(500)]
    assert did_you_mean("bax7", names) == " (did you mean box7?)"
    assert did_you_mean("bax7", [*names, "one"]) == ""
    assert did_you_mean("b" * 1000, ["b" * 999]) == ""


def test_a_graph_has_few_points() -> None:
    points = ", ".join(f"[{x}, {1 - x / 2000}]" for x in range(1001))
    with pytest.raises(AuroraError, match="1,001 points; 1,000 are enough"):
        from_text(
            f'inputs: {{a: {{schema: "A int"}}}}\noutputs: {{o: {{from: a, qos: {{latency: [{points}]}}}}}}\n'
        )


def test_deep_calls_of_two_threads_do_not_disturb_each_other() -> None:
    """The limit of calls is one for the process: it falls when the last one has read, and not before."""
    limit, inside, leave = sys.getrecursionlimit(), threading.Event(), threading.Event()
    tree = Expression.parse("A", SCHEMA).tree
    seen: list[int] = []

    def slow():  # type: ignore[no-untyped-def]
        inside.set()
        assert leave.wait(30)
        seen.append(sys.getrecursionlimit())
        return tree

    thread = threading.Thread(target=lambda: typed("A", slow))
    thread.start()
    assert inside.wait(30)
    # Begins while the other one reads, and ends before it.
    Expression.parse("A + 1", SCHEMA)
    assert sys.getrecursionlimit() == max(limit, DEEPEST)
    leave.set()
    thread.join()
    assert seen == [max(limit, DEEPEST)] and sys.getrecursionlimit() == limit
