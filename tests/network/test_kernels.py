"""Kernels made by factories: written as text with their arguments, and equal if these are."""

from typing import Any

import pytest

from aurora import AuroraError, Network, from_text, to_text
from aurora.linear_road.fused.queries import fused_linear_road
from aurora.linear_road.network.prepared import Prepared
from aurora.linear_road.network.queries import linear_road
from tests.network import factories
from tests.network.factories import Derived, Held, Limited, Plain, limited

TEXT = """network: n
inputs:
  a: {schema: A int}
boxes:
  b:
    user: tests.network.factories:limited
    with:
      size: 10s
      limits: [1, 2]
      rest:
        deep: [null, true, 1.5]
    inputs: {x: a}
    outputs: {o: A int}
outputs:
  out: {from: b.o}
"""


def with_kernel(kernel: Any, **options: Any) -> Network:
    network = Network("n")
    stream = network.user(
        kernel, inputs={"x": network.input("a", "A int")}, outputs={"o": "A int"}, name="b", **options
    )
    network.output("out", stream)
    return network


def called(network: Network) -> Any:
    return network.boxes["b"].operator.kernel({}, None)  # type: ignore[attr-defined]


def test_text_gives_arguments_to_a_factory() -> None:
    network = from_text(TEXT)
    assert called(network) == {"size": "10s", "limits": (1, 2), "rest": {"deep": (None, True, 1.5)}}
    assert to_text(network) == TEXT
    assert from_text(to_text(network)) == network


def test_python_gives_the_same_arguments() -> None:
    given = {"size": "10s", "limits": [1, 2], "rest": {"deep": [None, True, 1.5]}}
    network = with_kernel(limited, with_=given)
    assert network == from_text(TEXT) and to_text(network) == TEXT
    assert network != with_kernel(limited, with_={**given, "size": "20s"})
    assert network != with_kernel(Plain, with_={})


@pytest.mark.parametrize("kernel", [Limited(3), Limited(3, (4, 5), {"a": "b"})])
def test_a_frozen_dataclass_is_written_by_its_fields(kernel: Limited) -> None:
    network = with_kernel(kernel)
    fields = {"size": 3, "limits": kernel.limits, "names": kernel.names}
    assert network.boxes["b"].spec["with"] == fields
    again = from_text(to_text(network))
    assert again == network and to_text(again) == to_text(network)
    assert again.boxes["b"].operator.kernel == kernel  # type: ignore[attr-defined]
    assert with_kernel("tests.network.factories:Limited", with_=fields) == network
    assert with_kernel(Limited(4)) != network


@pytest.mark.parametrize("kernel", [Held([1]), Derived(2), Plain()])
def test_a_kernel_that_text_cannot_give_stays_an_object(kernel: Any) -> None:
    network = with_kernel(kernel)
    assert network.boxes["b"].spec["user"] is kernel
    with pytest.raises(AuroraError, match=rf"^box b: {type(kernel).__name__} cannot be imported by its name"):
        to_text(network)


FAULTS = {
    "user: tests.network.factories:Plain": "Plain is a class; with: {..} gives the arguments",
    "user: tests.network.factories:limited, with: [1]": "with: expects a mapping of arguments, found '[1]'",
    "user: tests.network.factories:limited, with:": "with: expects a mapping of arguments, found 'None'",
    "user: tests.network.factories:limited, with: {1: 2}": "with: '1' is not the name of an argument",
    "user: tests.network.factories:strict, with: {siz: 1}": "strict cannot make a kernel with siz=1: TypeError",
    "user: tests.network.factories:strict, with: {size: 0}": "ValueError: size must be 1 or more",
    "user: tests.network.factories:strict, with: {}": "strict cannot make a kernel with no arguments: TypeError",
    "user: tests.network.factories:number, with: {n: 7}": "number gives 7; a factory must return the kernel",
    "user: math:pi, with: {n: 7}": "math:pi is not a function",
    "user: math:pi": "math:pi is not a function",
}


@pytest.mark.parametrize("user", FAULTS)
def test_fault_of_a_kernel(user: str) -> None:
    inputs = '{schema: "A int"}'
    with pytest.raises(AuroraError) as caught:
        from_text(
            f'inputs: {{a: {inputs}}}\nboxes: {{b: {{{user}, inputs: {{x: a}}, outputs: {{o: "A int"}}}}}}'
        )
    message = str(caught.value)
    assert message.startswith("box b (x a): ") and FAULTS[user] in message and "\n" not in message


def test_an_argument_is_plain() -> None:
    with pytest.raises(AuroraError, match=r"with: size is <object .*; an argument is text, a number"):
        with_kernel(factories.limited, with_={"size": object()})


KNOWN = {"tolls": True, "xways": [0, 1], "toll_xways": 2}


@pytest.mark.parametrize("made", [linear_road, fused_linear_road])
@pytest.mark.parametrize("prepared", [None, Prepared("somewhere", 2, 9, KNOWN, "parquet:tolls/*.parquet")])
def test_linear_road_can_be_written(made: Any, prepared: Prepared | None) -> None:
    network = made(prepared)
    text = to_text(network)
    assert from_text(text) == network and to_text(from_text(text)) == text
