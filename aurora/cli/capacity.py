"""`aurora capacity`: whether a network fits, before it runs."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aurora.cli.bindings import Parameters, read_bindings, read_parameters
from aurora.cli.interrupts import stoppable
from aurora.cli.networks import NetworkFile
from aurora.cli.telling import tell, warn
from aurora.engine.settings import cores_of
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from rich.console import Console

    from aurora.adapt.capacity import Capacity
    from aurora.adapt.figures import Figures
    from aurora.history.home import Home
    from aurora.network.network import Network

__all__ = ["capacity"]

# The exit status for a negative answer: 1 is a fault, 2 a wrong call.
DOES_NOT_FIT = 3

# Batches with fewer rows than these say little about a row.
SHORT = 10_000


def capacity(
    network: NetworkFile,
    rate: Annotated[
        list[str] | None, typer.Option("--rate", help="NAME=ROWS_PER_SECOND; once for each input.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="The home of the network, to use the figures of its runs.")
    ] = None,
    sample: Annotated[
        list[str] | None,
        typer.Option(
            "--sample",
            help="NAME=csv:PATH and so on, once for each input and static table: a sample to measure the network on.",
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(help="How many cores there will be [as many as here].", min=1)
    ] = None,
    headroom: Annotated[
        float,
        typer.Option(
            help="The share of the cores to use in steady state; the rest is for bursts and queries."
        ),
    ] = 0.8,
    parameters: Parameters = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Predict how many cores a network needs at given rates, and the largest rate that fits.

    The cost of a tuple comes from the home of a network that runs or has run, or from a run on a sample of its input,
    ideally half a minute of it. The exit status is 3 if the network does not fit.

    \b
    Examples:
      aurora capacity border.yaml --rate reports=50000 --home border-home
      aurora capacity border.yaml --rate reports=50000 --cores 8 \\
                                  --sample reports=csv:reports.csv
    """
    from aurora.adapt.capacity import check_rates, plan_capacity
    from aurora.adapt.deferral import split_network
    from aurora.history.catalog import read_figures
    from aurora.history.home import Home
    from aurora.network.text import read_network

    read = read_network(network, parameters=read_parameters(parameters)).checked()
    if not 0 < headroom <= 1:
        raise AuroraError(f"--headroom {headroom:g}: write a share above 0 and up to 1, for example 0.8")
    rates = {name: _number(name, text) for name, text in read_bindings(rate or [], "rate").items()}
    if (home is None) == (not sample):
        raise AuroraError("give either --home DIR (costs from its runs) or --sample NAME=csv:PATH, not both")
    # What is wrong with the rates should not wait for Spark.
    check_rates(read, rates)
    if home is not None:
        place = Home.of(home)
        place.check_there()
        _check_network(place, read)
        figures = read_figures(place)
    else:
        figures = _measure(read, read_bindings(sample or [], "sample"))
    found = plan_capacity(read, figures, rates, cores or cores_of(None), headroom)
    in_parts = split_network(read, read.outputs) is not None
    if as_json:
        print(json.dumps({**_describe(found, figures), "two_parts": in_parts}))
    else:
        _show(found, figures)
        if in_parts and figures.later is None:
            print(
                "a run with a home has two parts, and the cost of the second part is not included; run with "
                "--no-deferring to avoid it"
            )
    if not found.fits:
        raise typer.Exit(DOES_NOT_FIT)


def _check_network(home: "Home", network: "Network") -> None:
    """The figures belong to boxes by name: another network may have boxes of the same names that do something else."""
    from aurora.adapt.drawing import describe_arcs

    home.check_network(network.name)
    recorded = home.read_network()
    if recorded is not None and recorded["boxes"] != describe_arcs(network)["boxes"]:
        warn(
            f"the boxes of network {network.name} are not those of its last run in {home.folder}, "
            "whose figures are used for the boxes of the same name"
        )


def _measure(network: "Network", sample: dict[str, str]) -> "Figures":
    from aurora.cli.progress import RunWatch
    from aurora.engine.sinks.sink import Interrupted
    from aurora.history.sampling import measure_sample

    with stoppable() as stop:
        try:
            with RunWatch(list(network.outputs)) as watch:
                figures = measure_sample(network, sample, watch=watch, stop=stop)
        except Interrupted as fault:
            tell(str(fault), "stopped")
            raise typer.Exit(stop.status) from None
        if stop.is_set():
            tell("stopped", "stopped")
            raise typer.Exit(stop.status)
    return figures


def _number(name: str, text: str) -> float:
    try:
        return float(text.replace("_", ""))
    except ValueError:
        raise AuroraError(f"--rate {name}={text}: write a number of rows a second") from None


def _describe(found: "Capacity", figures: "Figures") -> dict[str, Any]:
    return {
        "fits": found.fits,
        "needed": found.needed,
        "available": found.available,
        "cores": found.cores,
        "headroom": found.headroom,
        "rates": dict(found.rates),
        "largest": found.largest if math.isfinite(found.scale) else None,
        "shed": found.shed,
        "shedding": {"shares": dict(found.shedding.shares), "delivered": dict(found.shedding.kept)},
        "parts": [
            {"part": need.part, "kind": need.kind, "rate": need.rate, "cost_us": need.cost * 1e6, "cores": need.cores}
            for need in found.needs
        ],
        "one_core": {"boxes": list(found.one_core), "needed": found.one_core_needs, "fits": found.one_core_fits},
        "obstacles": list(found.obstacles),
        "unmeasured": list(found.unmeasured),
        "train": figures.train,
    }  # fmt: skip


def _show(found: "Capacity", figures: "Figures") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False, markup=False)
    table = Table("part", box=None, pad_edge=False)
    for column in ("a second", "us each", "cores"):
        table.add_column(column, justify="right")
    for need in found.needs:
        label = f"{need.kind} {need.part}".strip()
        table.add_row(Text(label), _figure(need.rate), _figure(need.cost * 1e6), f"{need.cores:,.3f}")
    table.add_row("needed", "", "", f"{found.needed:,.3f}")
    table.add_row(f"there are {found.cores:g} x {found.headroom:g}", "", "", f"{found.available:,.3f}")
    console.print(table)
    if not found.one_core_fits:
        _show_one_core(found, console)
    if math.isfinite(found.scale):
        largest = ", ".join(f"{name} {_figure(rate)}" for name, rate in found.largest.items())
        verdict = (
            "does not fit" if not found.fits else "fits, as far as measured" if found.unmeasured else "fits"
        )
        console.print(f"\n{verdict}; the largest rates that do: {largest}")
    if not found.fits:
        console.print(f"{_percent(found.shed)} of the rows would have to be dropped")
        _show_shedding(found, console)
    if found.unmeasured:
        console.print(f"not counted, because never measured: {', '.join(found.unmeasured)}")
    if figures.train < SHORT:
        rows = f"{figures.train:,.0f} rows" if figures.train else "few rows"
        console.print(f"measured in batches of {rows}: a row of a long batch costs less")


def _show_one_core(found: "Capacity", console: "Console") -> None:
    """Which boxes have one core, whatever there is for the others."""
    boxes, verb = ", ".join(found.one_core), "needs" if len(found.one_core) == 1 else "need"
    console.print(
        f"\n{boxes} {verb} {found.one_core_needs:,.3f} cores, and there {'is' if verb == 'needs' else 'are'} 1 x "
        f"{found.headroom:g}: without a key, all tuples come to one bucket, which has one core; "
        "group by a field or give a key, so that other cores can share the work"
    )


def _show_obstacles(found: "Capacity", console: "Console") -> None:
    """What keeps tuples that outputs may lose."""
    for obstacle in found.obstacles:
        console.print(obstacle)


def _show_shedding(found: "Capacity", console: "Console") -> None:
    """What the graphs allow; without graphs nothing is ever shed."""
    shedding = found.shedding
    if not shedding.shares:
        why = "" if found.obstacles else ": no output has a graph that says what missing tuples cost"
        console.print(f"no load would be shed{why}")
        _show_obstacles(found, console)
        return
    shares = ", ".join(f"{_percent(share)} of {name}" for name, share in shedding.shares.items())
    left = ", ".join(f"{name} {_percent(share)}" for name, share in shedding.kept.items())
    console.print(f"the graphs would shed {shares}, leaving {left}")
    if shedding.relief < 0.99 * found.excess:
        console.print("that is not enough: it would fall behind all the same")
        _show_obstacles(found, console)


def _percent(share: float) -> str:
    """Not 0 or 100 where it is only nearly that."""
    if 0 < share <= 0.005 or 0.995 <= share < 1:
        return f"{min(max(100 * share, 0.1), 99.9):.1f}%"
    return f"{100 * share:.0f}%"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
