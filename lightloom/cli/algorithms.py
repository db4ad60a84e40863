"""``lightloom algorithms``: what can make schedules."""

from __future__ import annotations

import click

from lightloom.cli.console import write_json, write_table
from lightloom.cli.main import SUMMARIES


@click.command("algorithms", help=SUMMARIES["algorithms"])
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> None:
    """List the algorithms."""
    from lightloom.report.algorithm_table import (
        algorithm_rows,
        algorithm_table,
    )

    rows = algorithm_rows()
    if as_json:
        write_json(
            {
                "algorithms": [
                    {
                        "name": row.name,
                        "summary": row.summary,
                        "ops": list(row.ops),
                        "parameters": list(row.parameters),
                    }
                    for row in rows
                ]
            }
        )
    else:
        write_table(algorithm_table(rows))
