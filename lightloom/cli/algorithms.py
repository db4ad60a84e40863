"""``lightloom algorithms``: what can make schedules, and with which parameters."""

from __future__ import annotations

import click

from lightloom.cli.console import write_json, write_table, write_text
from lightloom.cli.main import SUMMARIES
from lightloom.core.errors import unknown_name


@click.command(
    "algorithms",
    help=SUMMARIES["algorithms"]
    + "\n\nWith NAME, each parameter of that algorithm: type, default, domain and"
    " meaning. A list is given separated by commas; the default ... is chosen by the"
    " algorithm.",
)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name: str | None, *, as_json: bool) -> None:
    """List the algorithms, or the parameters of one."""
    from lightloom.report.listings import (
        algorithm_rows,
        algorithm_table,
        parameter_table,
    )

    rows = algorithm_rows()
    known = {row.name: row for row in rows}
    if name is not None:
        if name not in known:
            raise unknown_name("algorithm", name, known, where="NAME")
        rows = [known[name]]
    if as_json:
        write_json({"algorithms": [row.record() for row in rows]})
    elif name is None:
        write_table(algorithm_table(rows))
    else:
        (row,) = rows
        write_text(f"{row.name}: {row.summary}\nserves {', '.join(row.ops)}")
        if row.parameters:
            write_text("")
            write_table(parameter_table(row))
        else:
            write_text("no parameters")
