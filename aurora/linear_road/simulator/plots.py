"""A page of plots of one expressway: density and speed by place and time, flow by density, a shock wave."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.simulator.direction import CELL, CELLS, cells_name

__all__ = ["draw_page", "page_name"]

MILE = 5280 // CELL
DIRECTIONS = ("east", "west")
# The part of the road and the minutes shown around an accident.
MILES_BEHIND, MILES_BEYOND, MINUTES_BEFORE, MINUTES_AFTER = 8, 2, 5, 35


def page_name(expressway: int) -> str:
    return f"traffic-{expressway}.png"


def _blocks(cells: NDArray[np.int32], halves: int, width: int) -> NDArray[np.float64]:
    """Sums blocks of so many half minutes by so many cells; what is left over at the end is dropped."""
    times = len(cells) // halves
    blocks = cells[: times * halves].reshape(times, halves, CELLS // width, width)
    return np.asarray(blocks.sum(axis=(1, 3)), float)


def _speed(cars: NDArray[np.float64], speeds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.divide(speeds, cars, out=np.full(cars.shape, np.nan), where=cars > 0))


def draw_page(folder: Path, expressway: int, accidents: list[dict[str, Any]]) -> None:
    """Draws from the cells that the two directions left in the folder, into the same folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    cells = [np.load(folder / cells_name(expressway, direction)) for direction in (0, 1)]
    figure, axes = pyplot.subplots(3, 2, figsize=(15, 17), layout="constrained")
    figure.suptitle(f"Linear Road, expressway {expressway}")
    flows = []
    for direction, (count, speeds) in enumerate(cells):
        cars, minute_speeds = _blocks(count, 2, MILE), _blocks(speeds, 2, MILE)
        speed = _speed(cars, minute_speeds)
        # Every car reports twice a minute.
        density = cars / 2
        flows.append((density, speed))
        extent = (0, 100, 0, len(cars))
        for row, values, label, colours, most in (
            (0, density, "cars a mile", "magma_r", None),
            (1, speed, "mph", "RdYlGn", 70),
        ):
            panel = axes[row, direction]
            image = panel.imshow(
                values, aspect="auto", origin="lower", extent=extent, cmap=colours, vmin=0, vmax=most
            )
            panel.set(
                title=f"{('density', 'speed')[row]}, {DIRECTIONS[direction]}", xlabel="mile", ylabel="minute"
            )
            figure.colorbar(image, ax=panel, label=label)
    _draw_flow(axes[2, 0], flows)
    _draw_accident(
        figure, axes[2, 1], cells, [each for each in accidents if each["expressway"] == expressway]
    )
    figure.savefig(folder / page_name(expressway), dpi=80)
    pyplot.close(figure)


def _draw_flow(panel: Any, flows: list[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> None:
    for (density, speed), name in zip(flows, DIRECTIONS, strict=True):
        panel.plot(
            density.ravel() / 3, (density * speed).ravel() / 3, ".", markersize=1.5, alpha=0.3, label=name
        )
    panel.set(
        title="fundamental diagram (a mile, a minute)",
        xlabel="cars a mile and lane",
        ylabel="cars an hour and lane",
    )
    panel.legend(markerscale=6)


def _draw_accident(
    figure: Any, panel: Any, cells: list[NDArray[np.int32]], accidents: list[dict[str, Any]]
) -> None:
    """The accident that slowed the most cars, seen in tenths of a mile and half minutes."""
    panel.set_title("no accident in these minutes")
    best = None
    for accident in accidents:
        half, cell = max(accident["happened"], 0) // 30, accident["position"] // CELL
        first, last = max(half - 2 * MINUTES_BEFORE, 0), half + 2 * MINUTES_AFTER
        behind, beyond = MILES_BEHIND * MILE, MILES_BEYOND * MILE
        if accident["direction"]:
            behind, beyond = beyond, behind
        left, right = max(cell - behind, 0), min(cell + beyond, CELLS)
        window = cells[accident["direction"]][:, first:last, left:right].astype(float)
        # A jam that was there before hides the wave: what counts is free traffic that comes to a stand.
        (cars_before, speeds_before), (cars, speeds) = (
            part.sum(axis=(1, 2)) for part in np.split(window, [half - first], axis=1)
        )
        fall = speeds_before / max(cars_before, 1) - speeds / max(cars, 1)
        weight = fall * np.sqrt(cars)
        speed = _speed(window[0], window[1])
        if best is None or weight > best[0]:
            best = (
                weight,
                accident,
                speed,
                (left / MILE, right / MILE, first / 2, first / 2 + len(speed) / 2),
            )
    if best is None:
        return
    _, accident, speed, extent = best
    image = panel.imshow(speed, aspect="auto", origin="lower", extent=extent, cmap="RdYlGn", vmin=0, vmax=70)
    mile = accident["position"] / 5280
    cleared = extent[3] * 60 if accident["cleared"] is None else accident["cleared"]
    panel.plot([mile, mile], [accident["happened"] / 60, cleared / 60], "k", linewidth=2)
    panel.set(
        title=f"an accident in lane {accident['lane']}, {DIRECTIONS[accident['direction']]}: its shock wave",
        xlabel="mile",
        ylabel="minute",
        xlim=extent[:2],
        ylim=extent[2:],
    )
    figure.colorbar(image, ax=panel, label="mph")
