"""``lightloom bench compare``: two results files beside each other."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

import click

from lightloom.cli.bench import BENCH_SUMMARIES
from lightloom.cli.console import write_json, write_table, write_text
from lightloom.cli.failure import as_given

_SHOWN = 30
"""Changes that people see; --json has all of them."""


@click.command(
    "compare",
    help=BENCH_SUMMARIES["compare"]
    + "\n\nRuns are paired by problem, instance, solver, parameters, limits and seed."
    " The ratio is the geometric mean of B's seconds over A's, with an interval by"
    " Student's t over the logarithms. Noise is the factor by which repetitions of the"
    " same questions differ (`bench run --again` adds them to a file). A change is one"
    " beyond both.",
)
@click.argument("a")
@click.argument("b")
@click.option(
    "--time",
    "measure",
    type=click.Choice(["cpu", "wall"]),
    default="cpu",
    show_default=True,
    help="Processor seconds, or seconds on the wall clock.",
)
@click.option(
    "--confidence",
    type=float,
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    a: str, b: str, *, measure: Literal["cpu", "wall"], confidence: float, as_json: bool
) -> None:
    """Print how B differs from A."""
    from lightloom.bench.compare import compare
    from lightloom.bench.results import read_results

    before, after = read_results(a), read_results(b)
    with as_given(confidence="--confidence"):
        found = compare(before, after, measure=measure, confidence=confidence)
    if as_json:
        speeds = [{**asdict(one), "verdict": one.verdict} for one in found.speeds]
        write_json({**asdict(found), "speeds": speeds})
        return
    from lightloom.cli.bench.tables import change_table, speed_table

    write_table(speed_table(found))
    if found.changes:
        write_table(change_table(found, _SHOWN))
    else:
        write_text("no ending, answer or bound changed")
    if found.only_before or found.only_after:
        write_text(f"unpaired: {found.only_before} in {a}, {found.only_after} in {b}")
