"""`aurora linear-road demo`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from aurora.cli import telling
from aurora.cli.bars import result_console
from aurora.cli.interrupts import stoppable
from aurora.cli.linear_road_run import watching
from aurora.cli.linear_road_validate import show

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the traffic, its history, and the run.")] = Path(
        "linear-road-demo"
    ),
    expressways: Annotated[int, typer.Option(help="How many expressways (L).")] = 1,
    minutes: Annotated[int, typer.Option(help="How many minutes of traffic to simulate.")] = 30,
    seed: Annotated[int, typer.Option(help="The same seed gives the same traffic.")] = 1,
) -> None:
    """Run a small Linear Road benchmark from start to end: simulate, make history, run, validate.

    Example: aurora linear-road demo --minutes 30 --out demo
    """
    from aurora.engine.spark.session import spark_session
    from aurora.linear_road.history_generator import make_history
    from aurora.linear_road.run import run_benchmark
    from aurora.linear_road.simulator import Settings, simulate, spread
    from aurora.linear_road.validate import validate

    began = time.monotonic()

    def tell(text: str) -> None:
        telling.tell(f"[{time.monotonic() - began:5.1f} s] {text}")

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
    with stoppable() as stop, watching() as watch:
        report = run_benchmark(data, result, fresh=True, tell=tell, watch=watch, stop=stop)
    if not report.ended:
        raise typer.Exit(stop.status if stop.is_set() else 1)
    tell("validating every answer")
    verdict = validate(None, data, result / "output.csv")
    verdict.write(result / "output.validation.json")
    show(verdict, result_console())
    typer.echo(
        f"{'right' if verdict.right else 'not right'}: {report.tuples:,} tuples, {report.tuples_per_s:,.0f}/s, "
        f"{sum(output.given for output in verdict.outputs.values()):,} answers in {result / 'output.csv'}"
    )
    raise typer.Exit(0 if verdict.right else 1)
