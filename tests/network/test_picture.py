"""Pictures of networks: all is there, nothing lies on top of anything else, and arrows end where they should."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import pytest

from aurora import Network, read_network
from aurora.network.picture import lay_out
from tests.network.test_names import border

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples").glob("*/network.yaml"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_examples(path: Path) -> None:
    check(read_network(path))


def test_linear_road() -> None:
    check(read_network("aurora.linear_road.network.queries:linear_road"))


def check(network: Network) -> None:
    nodes, arrows = lay_out(network)
    ends = sum(len(box.inputs) for box in network.boxes.values()) + len(network.outputs)
    ends += len([name for name in network.points if name not in network.outputs])
    assert len(arrows) == ends
    assert len(nodes) == len({node.name for node in nodes})
    for one, other in combinations(nodes, 2):
        apart = one.layer != other.layer or one.y + one.height <= other.y or other.y + other.height <= one.y
        assert apart, (one.name, other.name)
    for one in nodes:
        for other in nodes:
            # The fields of its streams stand between it and the next layer.
            assert other.layer <= one.layer or one.x + one.width + one.shaft < other.x
    for arrow in arrows:
        layers = [node.layer for node in arrow.path]
        assert layers == list(range(layers[0], layers[-1] + 1))
        for passed in arrow.path[1:-1]:
            middle = passed.y + passed.height / 2
            beside = [node for node in nodes if node.layer == passed.layer]
            assert not any(node.y <= middle <= node.y + node.height for node in beside)
    picture = ET.fromstring(network.svg())
    drawn = {group.get("id"): group for group in picture.iter(f"{SVG}g") if group.get("id")}
    assert set(drawn) == {node.name for node in nodes}
    for node in nodes:
        box = drawn[node.name].find(f"{SVG}rect")
        assert box is not None and float(box.get("x", -1)) == pytest.approx(node.x, abs=1)
    paths = [path.get("d", "") for path in picture.iter(f"{SVG}path") if path.get("class") == "arrow"]
    for arrow, path in zip(arrows, paths, strict=True):
        numbers = [float(number) for number in re.findall(r"-?\d+", path)]
        first, last = arrow.path[0], arrow.path[-1]
        assert numbers[:2] == pytest.approx([first.x + first.width, first.leaving(arrow.port)], abs=1)
        assert numbers[-2:] == pytest.approx([last.x - 2, last.y + last.height / 2], abs=1)


def test_what_it_says() -> None:
    network = Network("<border> & watch")
    border(30, network)
    network.stream("over").map({"Nowhere": "Pos"})
    text = network._repr_svg_()
    picture = ET.fromstring(text)
    words = [element.text for element in picture.iter(f"{SVG}text")]
    for word in (
        "reports",
        "over",
        "filter Pos >= 30",
        "Pos int",
        "rest:",
        "alarms",
        "view, keeps 10",
        "recent",
    ):
        assert word in words
    assert picture.findtext(f"{SVG}title") == "<border> & watch"
    # A box that leads to no output is pale.
    (pale,) = [group.get("id") for group in picture.iter(f"{SVG}g") if group.get("opacity")]
    assert pale == "map_1"


def test_many_fields_are_cut_and_told_in_full() -> None:
    network = Network("wide")
    network.output("all", network.input("rows", ", ".join(f"f{n} int" for n in range(20))))
    picture = ET.fromstring(network.svg())
    words = [element.text for element in picture.iter(f"{SVG}text")]
    assert "and 16 more" in words and "f19 int" not in words
    assert any("f19 int" in str(title.text) for title in picture.iter(f"{SVG}title"))


def test_an_empty_network() -> None:
    assert ET.fromstring(Network("empty").svg()).tag == f"{SVG}svg"
