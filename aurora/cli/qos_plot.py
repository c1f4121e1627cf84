"""The graphs of quality of service as a picture: an output in each row, a graph in each column."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError
from aurora.network.network import Network
from aurora.network.qos import Graph, Qos

__all__ = ["plot_graphs"]

LINE, GOOD = "#1f3b63", "#1f3b631a"
ENDINGS = (".png", ".svg")


def plot_graphs(network: Network, path: Path) -> None:
    """Draws the graphs of all outputs that have some; the good zone of a latency is shaded."""
    outputs = {name: output.qos for name, output in network.outputs.items() if output.qos is not None}
    if not outputs:
        raise AuroraError(
            f"network {network.name}: no output has a graph; add for example "
            "qos: {latency: [[0, 1], [2, 1], [10, 0]]} to one"
        )
    if path.suffix not in ENDINGS:
        raise AuroraError(f"--plot {path}: write a file that ends in {' or '.join(ENDINGS)}")
    # It takes a second to load.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [list(_graphs(qos)) for qos in outputs.values()]
    columns = max(map(len, rows))
    size = (4 * columns, 2.6 * len(rows))
    figure, axes = pyplot.subplots(len(rows), columns, figsize=size, squeeze=False, constrained_layout=True)
    for name, row, places in zip(outputs, rows, axes, strict=True):
        for axis in places[len(row) :]:
            axis.set_visible(False)
        for axis, (label, graph, unit) in zip(places, row, strict=False):
            _draw(axis, graph, label)
            axis.set(title=f"{name}: {label}", xlabel=unit, ylabel="utility", ylim=(-0.05, 1.05))
    try:
        figure.savefig(path, dpi=110)
    except OSError as fault:
        raise AuroraError(f"cannot write {path}: {fault.strerror}; name another file") from None
    finally:
        pyplot.close(figure)


def _graphs(qos: Qos) -> Iterable[tuple[str, Graph, str]]:
    if qos.latency is not None:
        yield "latency", qos.latency, "seconds"
    if qos.delivered is not None:
        yield "delivered", qos.delivered, "percent of the tuples"
    if qos.value is not None:
        yield "value", qos.value.graph, qos.value.of


def _draw(axis: Any, graph: Graph, label: str) -> None:
    places, worth = zip(*graph.points, strict=True)
    # Beyond its last point a graph goes on as it was there; there are no more than 100%.
    end = 100.0 if label == "delivered" else places[-1] + (places[-1] - places[0]) * 0.15
    axis.plot([*places, end], [*worth, worth[-1]], color=LINE)
    axis.plot(places, worth, "o", color=LINE, markersize=3)
    if label == "latency":
        axis.axvspan(places[0], min(graph.good_until, end), color=GOOD)
