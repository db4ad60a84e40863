"""``lightloom solvers``: what can solve the models here."""

from __future__ import annotations

import click

from lightloom.cli.console import write_json, write_table
from lightloom.cli.main import SUMMARIES


@click.command("solvers", help=SUMMARIES["solvers"])
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> None:
    """List the solvers, installed or not."""
    from lightloom.solvers import SOLVERS

    rows = [(adapter, adapter.status()) for adapter in SOLVERS.values()]
    if as_json:
        write_json(
            {
                "solvers": [
                    {
                        "name": adapter.name,
                        "available": bool(status.availability),
                        "status": str(status.availability),
                        "version": status.version,
                        "kinds": list(adapter.capabilities.kinds),
                        "summary": adapter.summary,
                        "reason": status.reason or None,
                    }
                    for adapter, status in rows
                ]
            }
        )
        return
    from lightloom.report.tables import Column, terminal_table

    headings = ("solver", "available", "version", "takes", "summary", "remark")
    write_table(
        terminal_table(
            [Column(heading) for heading in headings],
            [
                (
                    adapter.name,
                    "yes" if status.availability else "no",
                    status.version,
                    ", ".join(adapter.capabilities.kinds),
                    adapter.summary,
                    status.reason,
                )
                for adapter, status in rows
            ],
        )
    )
