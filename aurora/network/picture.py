"""A network as a picture (SVG): boxes in layers from left to right, arrows between them, the fields of each stream."""

import html
from dataclasses import dataclass, field
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.characters import printable
from aurora.network.layers import arrange
from aurora.network.network import Box, Network, Port

__all__ = ["Arrow", "Node", "draw_network", "lay_out"]

# Pixels: of a letter of a name, and of one of a field; of a line of fields; around and between the boxes.
LETTER, SMALL = 7.4, 5.9
LINE = 12
PAD, GAP, CURVE = 10, 16, 56
# So many fields of a stream are shown; the others appear when the mouse rests on them.
FIELDS = 5
LONGEST = 30
COLOURS = {
    "input": ("#e8f1fb", "#3b73af"),
    "table": ("#f3eefb", "#7a5bb0"),
    "box": ("#ffffff", "#555555"),
    "point": ("#fff6e0", "#b7862b"),
    "output": ("#e9f7ec", "#2f855a"),
}


@dataclass(eq=False)
class Node:
    """A box, an input, an output or a point; or, without a kind, where an arrow passes a layer."""

    name: str
    kind: str = ""
    lines: tuple[str, ...] = ()
    # What leaves it to the right: the port, and its fields as lines.
    ports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    faint: bool = False
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        if not self.kind:
            return 0.0
        first, *others = self.lines
        return 2 * PAD + max([LETTER * len(first), *(SMALL * len(line) for line in others)])

    @property
    def height(self) -> float:
        if not self.kind:
            return float(GAP)
        return max(2 * PAD + 16 + LINE * (len(self.lines) - 1), sum(map(_slot, self.ports.values())))

    @property
    def shaft(self) -> float:
        """How far its arrows go straight, below the fields of their streams."""
        return max((SMALL * len(line) for lines in self.ports.values() for line in lines), default=0.0) + PAD

    def leaving(self, port: str) -> float:
        """The height at which the arrows of a port leave."""
        at = self.y + (self.height - sum(map(_slot, self.ports.values()))) / 2
        for name, lines in self.ports.items():
            at += _slot(lines)
            if name == port:
                return at - 6
        return self.y + self.height / 2


@dataclass(frozen=True)
class Arrow:
    """From a port to a box, through the places where it passes the layers between them."""

    port: str
    path: tuple[Node, ...]


def _slot(lines: tuple[str, ...]) -> float:
    return LINE * len(lines) + 10


def lay_out(network: Network) -> tuple[list[Node], list[Arrow]]:
    """Where everything is."""
    nodes = _nodes(network)
    ends: list[tuple[Node, str, Node]] = []
    for box in network.boxes.values():
        ends += [(nodes[port.box], port.port, nodes[box.name]) for port in box.inputs]
    for name, output in network.outputs.items():
        ends.append((nodes[output.port.box], output.port.port, nodes[f"output {name}"]))
    for name, point in network.points.items():
        if name not in network.outputs:
            ends.append((nodes[point.port.box], point.port.port, nodes[f"point {name}"]))
    for source, port, _ in ends:
        schema = network.schema(Port(source.name, port))
        source.ports.setdefault(port, _told(network, source, port, schema))
        source.titles[port] = str(schema)
    paths = arrange(list(nodes.values()), [(source, target) for source, _, target in ends], _pass)
    layers: dict[int, list[Node]] = {}
    for node in dict.fromkeys([*nodes.values(), *(node for path in paths for node in path)]):
        layers.setdefault(node.layer, []).append(node)
    x = float(PAD)
    for number in sorted(layers):
        width = max(node.width for node in layers[number])
        for node in layers[number]:
            node.x = x
        x += width + max(node.shaft for node in layers[number]) + CURVE
    arrows = [Arrow(port, tuple(path)) for (_, port, _), path in zip(ends, paths, strict=True)]
    return list(nodes.values()), arrows


def _pass() -> Node:
    return Node("")


def _nodes(network: Network) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for name, entry in network.inputs.items():
        kind = "table" if entry.static else "input"
        told = (
            f"stored in {entry.stored.address}"
            if entry.stored
            else f"point {entry.point}"
            if entry.point
            else kind
        )
        nodes[name] = Node(name, kind, (_cut(name), _cut(told)))
    leading = _leading(network)
    for box in network.boxes.values():
        lines = (_cut(box.name), _cut(_detail(box)))
        nodes[box.name] = Node(box.name, "box", lines, faint=box.name not in leading)
    for name in network.outputs:
        view = network.points.get(name)
        told = "output" if view is None else f"view, keeps {view.spec.get('keep')}"
        nodes[f"output {name}"] = Node(f"output {name}", "output", (_cut(name), _cut(told)))
    for name, point in network.points.items():
        if name not in network.outputs:
            told = f"point, keeps {point.spec.get('keep')}"
            nodes[f"point {name}"] = Node(f"point {name}", "point", (_cut(name), _cut(told)))
    return nodes


def _leading(network: Network) -> set[str]:
    """The boxes that lead to an output or a point; the others do nothing."""
    found = {output.port.box for output in network.outputs.values()}
    found |= {point.port.box for point in network.points.values()}
    for box in reversed(network.boxes.values()):
        if box.name in found:
            found |= {port.box for port in (*box.inputs, *box.clocks)}
    return found


def _detail(box: Box) -> str:
    """The kind of a box, and what it does in a few words."""
    said: Any = box.spec[box.kind]
    if isinstance(said, dict):
        said = ", ".join(map(str, said))
    elif isinstance(said, list | tuple):
        said = ", ".join(map(str, said)) if box.kind != "union" else ""
    return f"{box.kind} {said if isinstance(said, str) else getattr(said, '__name__', '')}".strip()


def _told(network: Network, source: Node, port: str, schema: Schema) -> tuple[str, ...]:
    lines = [_cut(f"{name} {type_name(kind)}") for name, kind in schema.items()]
    if len(lines) > FIELDS:
        lines = [*lines[: FIELDS - 1], f"and {len(lines) - FIELDS + 1} more"]
    several = source.kind == "box" and len(network.boxes[source.name].operator.outputs) > 1
    return (f"{port}:", *lines) if several else tuple(lines)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} .."


def escape(text: str) -> str:
    """Return text that XML takes for what it is."""
    return html.escape(printable(text))


def draw_network(network: Network) -> str:
    nodes, arrows = lay_out(network)
    width = max((node.x + node.width + (node.shaft if node.ports else 0) for node in nodes), default=0) + PAD
    height = max((node.y + node.height for node in nodes), default=0) + PAD
    drawn = [_arrow(arrow) for arrow in arrows] + [_node(node) for node in nodes]
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#777777"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif">'
        f"<title>{escape(network.name)}</title><defs>{head}</defs>"
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(drawn)}</svg>'
    )


def _arrow(arrow: Arrow) -> str:
    source, *others = arrow.path
    x, y = source.x + source.width, source.leaving(arrow.port)
    # Straight past its layer, then bent to where the next one begins.
    parts = [f"M{x:.0f},{y:.0f}"]
    for node in others:
        to = node.y + node.height / 2
        end = node.x - (2 if node.kind else 0)
        bend = max(end - CURVE, x)
        parts.append(
            f"H{bend:.0f} C{bend + CURVE / 2:.0f},{y:.0f} {end - CURVE / 2:.0f},{to:.0f} {end:.0f},{to:.0f}"
        )
        x, y = end, to
    return f'<path class="arrow" d="{" ".join(parts)}" fill="none" stroke="#777777" marker-end="url(#head)"/>'


def _node(node: Node) -> str:
    fill, stroke = COLOURS[node.kind]
    dashed = ' stroke-dasharray="4 3"' if node.kind in ("table", "point") else ""
    first, *others = node.lines
    middle, top = node.x + node.width / 2, node.y + node.height / 2 - LINE * len(others) / 2
    parts = [
        f'<rect x="{node.x:.0f}" y="{node.y:.0f}" width="{node.width:.0f}" height="{node.height:.0f}" rx="6" '
        f'fill="{fill}" stroke="{stroke}"{dashed}/>',
        f'<text x="{middle:.0f}" y="{top + 5:.0f}" font-size="12" font-weight="bold" text-anchor="middle">'
        f"{escape(first)}</text>",
    ]
    for number, line in enumerate(others, 1):
        parts.append(
            f'<text x="{middle:.0f}" y="{top + 5 + LINE * number:.0f}" font-size="10" fill="#555555" '
            f'text-anchor="middle">{escape(line)}</text>'
        )
    for port, lines in node.ports.items():
        base = node.leaving(port) - 4
        told = "".join(
            f'<text x="{node.x + node.width + 5:.0f}" y="{base - LINE * (len(lines) - 1 - number):.0f}" '
            f'font-size="10" fill="#333333">{escape(line)}</text>'
            for number, line in enumerate(lines)
        )
        parts.append(f"<g><title>{escape(node.titles[port])}</title>{told}</g>")
    faint = ' opacity="0.45"' if node.faint else ""
    return f'<g class="{node.kind}" id="{escape(node.name)}"{faint}>{"".join(parts)}</g>'
