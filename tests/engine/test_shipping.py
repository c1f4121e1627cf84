"""Functions whose modules lie beside a network run where those modules are not."""

import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from aurora import read_network
from aurora.engine.spark.user_modules import ship_functions

NETWORK = """
network: shipped
inputs: {a: {schema: "A int"}}
boxes:
  own: {user: "shipped_kernel:kernel", inputs: {a: a}, outputs: {o: "A int"}}
  sum: {aggregate: "shipped_kernel:SUM", from: a, order: {on: A}, size: 1}
  made: {user: "shipped_kernel:factory", with: {word: new}, inputs: {a: a}, outputs: {o: "A int"}}
  lib: {user: "math:sqrt", inputs: {a: a}, outputs: {o: "A int"}}
outputs: {o: {from: own}}
"""
KERNEL = """
from aurora import Schema, WindowFunction
from shipped_words import WORD

def kernel(inputs, turn):
    return WORD

def factory(word):
    return lambda inputs, turn: f"{WORD} {word}"

SUM = WindowFunction(Schema.parse("n int"), int, lambda n, tuples: n + len(tuples), lambda n: {"n": n, WORD: 0})
"""


def test_modules_beside_the_network_travel_by_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finders = list(sys.meta_path)
    (tmp_path / "network.yaml").write_text(NETWORK)
    (tmp_path / "shipped_kernel.py").write_text(KERNEL)
    (tmp_path / "shipped_words.py").write_text("WORD = 'shipped'\n")
    network = read_network(tmp_path / "network.yaml")
    ship_functions(network)
    packed = cloudpickle.dumps([network.boxes[name].operator for name in ("own", "sum", "lib", "made")])
    # The workers do not have the folder.
    for name in ("shipped_kernel", "shipped_words"):
        cloudpickle.unregister_pickle_by_value(sys.modules.pop(name))
    assert str(tmp_path.resolve()) not in sys.path
    monkeypatch.setattr(
        sys, "meta_path", [finder for finder in finders if "aurora" not in type(finder).__module__]
    )
    own, total, lib, made = cloudpickle.loads(packed)
    assert own.kernel({}, None) == "shipped"
    assert made.kernel({}, None) == "shipped new"
    assert total.reducer.user.final(3) == {"n": 3, "shipped": 0}
    assert lib.kernel(9) == 3
    assert "shipped_kernel" not in sys.modules
