"""``lightloom bench list``: suites and families."""

from __future__ import annotations

import inspect

import click

from lightloom.cli.bench import BENCH_SUMMARIES
from lightloom.cli.console import write_json, write_table


@click.command(
    "list",
    help=BENCH_SUMMARIES["list"]
    + "\n\nFamilies are what a suite of your own draws instances from, with their"
    " parameters and defaults.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> None:
    """List suites and families."""
    from lightloom.bench.families import FAMILIES
    from lightloom.bench.suite import built_in_suites

    suites = built_in_suites()
    families = {
        family.name: (_parameters(family.make), family.summary)
        for family in FAMILIES.values()
    }
    if as_json:
        write_json(
            {
                "suites": suites,
                "families": {
                    name: {"parameters": parameters, "summary": summary}
                    for name, (parameters, summary) in families.items()
                },
            }
        )
        return
    from lightloom.report.tables import Column, terminal_table

    headings = [Column("suite"), Column("what it is for")]
    write_table(terminal_table(headings, suites.items()))
    headings = [Column("family"), Column("parameters"), Column("what it is")]
    rows = [(name, *told) for name, told in families.items()]
    write_table(terminal_table(headings, rows))


def _parameters(make: object) -> str:
    """Return the parameters of a family with their defaults."""
    taken = inspect.signature(make).parameters.values()  # type: ignore[arg-type]
    return " ".join(
        one.name if one.default is one.empty else f"{one.name}={one.default}"
        for one in taken
    )
