"""The page for those who come from Spark or Flink: its boxes are boxes, and Spark understands its DataFrames.

And the picture of the README: it shows the network that stands below it.
"""

import re
import xml.etree.ElementTree as ET

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from aurora import from_text
from tests.test_docs import ROOT, blocks
from tests.test_docs_tables import cells

PAGE = (ROOT / "docs" / "coming-from-spark-or-flink.md").read_text()
SCHEMAS = {
    "visits": "door string, time timestamp, people bigint",
    "guards": "door string, time timestamp, guard string",
}
SVG = "{http://www.w3.org/2000/svg}"


def rows() -> list[list[str]]:
    table = PAGE[PAGE.index("| query | Flink SQL |") :].split("\n\n")[0]
    return [cells(line) for line in table.splitlines()[2:]]


def code(cell: str) -> str | None:
    found = re.match(r"`([^`]+)`", cell)
    return found[1] if found else None


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_boxes(row: list[str]) -> None:
    inputs = "".join(f'  {name}: {{schema: "{schema}"}}\n' for name, schema in SCHEMAS.items())
    text = (
        f"network: compared\ninputs:\n{inputs}boxes:\n  box: {code(row[3])}\noutputs:\n  out: {{from: box}}\n"
    )
    assert from_text(text).checked().boxes


def test_the_frames_of_spark(spark: SparkSession, tmp_path) -> None:
    frames = {
        name: spark.readStream.schema(schema).json(str(tmp_path)).withWatermark("time", "7 seconds")
        for name, schema in SCHEMAS.items()
    }
    found = [text for row in rows() if (text := code(row[2])) and not row[2].startswith("no operator")]
    assert len(found) >= 4
    for text in found:
        assert eval(text, {"F": F, **frames}).isStreaming


def test_the_picture_of_the_readme() -> None:
    text = next(block.text for block in blocks("README.md") if block.file == "border.yaml")
    network = from_text(text).checked()
    drawn = ET.parse(ROOT / "docs" / "border-watch.svg").getroot()
    boxes = {group.get("data-box"): group for group in drawn.iter(f"{SVG}g") if group.get("data-box")}
    assert boxes.keys() == network.boxes.keys()
    for name, group in boxes.items():
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{name}:"))
        assert group.get("data-kind") in network.boxes[name].spec
        words = [element for element in group.iter(f"{SVG}text") if element.get("data-said")]
        assert words and all(str(word.text) in line for word in words)
    streams = {group.get("data-stream") for group in drawn.iter(f"{SVG}g")} - {None}
    assert streams == {*network.inputs, *network.outputs}
    arcs = {
        tuple(str(path.get("data-arc")).split()) for path in drawn.iter(f"{SVG}path") if path.get("data-arc")
    }
    taken = {(str(box.spec["from"]).split(".")[0], name) for name, box in network.boxes.items()}
    assert arcs == taken | {(output.port.box, name) for name, output in network.outputs.items()}
