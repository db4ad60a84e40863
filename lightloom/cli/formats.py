"""``lightloom formats``: what can be read and written."""

from __future__ import annotations

from dataclasses import asdict

import click

from lightloom.cli.console import write_json, write_table
from lightloom.cli.main import SUMMARIES


@click.command("formats", help=SUMMARIES["formats"])
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> None:
    """List the formats with their versions and the commands that use them."""
    from lightloom.formats.known_formats import KNOWN_FORMATS

    if as_json:
        write_json({"formats": [asdict(known) for known in KNOWN_FORMATS]})
        return
    from lightloom.report.tables import Column, terminal_table

    names = ("format", "suffix", "version", "read by", "written by")
    rows = [
        (known.name, known.suffix, known.version, known.read, known.write)
        for known in KNOWN_FORMATS
    ]
    write_table(terminal_table(tuple(Column(name) for name in names), rows))
