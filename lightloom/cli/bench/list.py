"""``lightloom bench list``: suites and families."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from lightloom.cli.bench import BENCH_SUMMARIES
from lightloom.cli.console import write_json, write_table

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command(
    "list",
    help=BENCH_SUMMARIES["list"]
    + "\n\nFamilies are what a suite of your own draws instances from, measures who"
    " takes part in its problem `measure`, each with parameters and defaults.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> None:
    """List suites and families."""
    from lightloom.bench.families import FAMILIES
    from lightloom.bench.measures import MEASURES
    from lightloom.bench.suite import built_in_suites

    suites = built_in_suites()
    families = {
        family.name: (_parameters(family.make), family.summary)
        for _, family in sorted(FAMILIES.items())
    }
    measures = {
        one.name: (f"{_parameters(one.run, 2)} stage={one.stages[-1]}", one.summary)
        for _, one in sorted(MEASURES.items())
    }
    if as_json:
        write_json(
            {
                "suites": suites,
                "families": _records(families),
                "measures": _records(measures),
            }
        )
        return
    from lightloom.report.tables import Column, terminal_table

    headings = [Column("suite"), Column("what it is for")]
    write_table(terminal_table(headings, suites.items()))
    for noun, listed in (("family", families), ("measure", measures)):
        headings = [Column(noun), Column("parameters"), Column("what it is")]
        rows = [(name, *told) for name, told in listed.items()]
        write_table(terminal_table(headings, rows))


def _records(listed: dict[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {
        name: {"parameters": parameters, "summary": summary}
        for name, (parameters, summary) in listed.items()
    }


def _parameters(make: Callable[..., object], skipped: int = 0) -> str:
    """Return the parameters of a function behind the first, with their defaults."""
    taken = list(inspect.signature(make).parameters.values())[skipped:]
    return " ".join(
        one.name if one.default is one.empty else f"{one.name}={one.default}"
        for one in taken
    )
