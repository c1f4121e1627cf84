"""`aurora linear-road demo`."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from aurora.cli.interrupts import stoppable
from aurora.cli.linear_road_run import watching
from aurora.cli.linear_road_validate import show
from aurora.engine.spark.session import spark_session
from aurora.linear_road.history_generator import make_history
from aurora.linear_road.run import run_benchmark
from aurora.linear_road.simulator import Settings, simulate, spread
from aurora.linear_road.validate import validate

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Gets the traffic, its history, and the run.")] = Path(
        "linear-road-demo"
    ),
    expressways: Annotated[int, typer.Option(help="How many expressways (L).")] = 1,
    minutes: Annotated[int, typer.Option(help="How long the traffic is simulated.")] = 30,
    seed: Annotated[int, typer.Option(help="The same seed gives the same traffic.")] = 1,
) -> None:
    """A small Linear Road from simulation to verdict: simulate, history, run, validate, one after the other.

    Example: aurora linear-road demo --minutes 30 --out demo
    """
    console = Console(stderr=True)
    began = time.monotonic()

    def tell(text: str) -> None:
        console.print(f"[{time.monotonic() - began:5.1f} s] {text}", highlight=False, markup=False)

    data, result = out / "data", out / "run"
    tell(f"simulating {minutes} minutes of {expressways} expressway(s)")
    traffic = simulate(
        Settings(expressways, minutes, seed), data, spread(spark_session("linear road").sparkContext)
    )
    queries = sum(traffic["counts"]["queries"].values())
    tell(
        f"{traffic['counts']['reports']:,} reports of {traffic['counts']['cars']:,} cars, {queries:,} queries"
    )
    tell("making ten weeks of history")
    make_history(None, data, expressways, seed)
    tell("running the network on Spark")
    with stoppable() as stop, watching(console) as watch:
        report = run_benchmark(data, result, fresh=True, tell=tell, watch=watch, stop=stop)
    if not report.ended:
        raise typer.Exit(130)
    tell("validating every answer")
    verdict = validate(None, data, result / "output.csv")
    verdict.write(result / "output.validation.json")
    show(verdict, Console(width=None if Console().is_terminal else 120))
    typer.echo(
        f"{'right' if verdict.right else 'not right'}: {report.tuples:,} tuples, {report.tuples_per_s:,.0f}/s, "
        f"{sum(output.given for output in verdict.outputs.values()):,} answers in {result / 'output.csv'}"
    )
    raise typer.Exit(0 if verdict.right else 1)
