"""``lightloom schema``: the JSON Schema of the schedule file."""

from __future__ import annotations

import click

from lightloom.cli.console import write_text
from lightloom.cli.main import SUMMARIES


@click.command("schema", help=SUMMARIES["schema"])
def command() -> None:
    """Print the schema that the package ships."""
    from importlib.resources import files

    shipped = files("lightloom.formats").joinpath("schedule.schema.json")
    write_text(shipped.read_text(encoding="utf-8"))
