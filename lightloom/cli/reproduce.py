"""``lightloom reproduce``: a figure of a paper, ours beside theirs."""

from __future__ import annotations

from pathlib import Path

import click

from lightloom.cli.completion import figure_names
from lightloom.cli.console import say, write_table, write_text
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import output_folder
from lightloom.cli.progress import progress


@click.command(
    "reproduce",
    help=SUMMARIES["reproduce"]
    + "\n\nWithout NAME: list the figures. Every schedule behind a number is"
    " synthesised, verified and replayed; nothing is tuned to the paper. Leaves"
    " data.csv, comparison.csv, NAME.png and NAME.svg.",
)
@click.argument("name", required=False, shell_complete=figure_names)
@click.option(
    "--out",
    metavar="DIR",
    help="Folder for the files.  [default: out/reproduce/NAME]",
)
def command(name: str | None, out: str | None) -> None:
    """Compute a figure, print it beside the paper, and save it."""
    from lightloom.papers import FIGURES, figure

    if name is None:
        from lightloom.report.tables import Column, terminal_table

        rows = [(entry.name, entry.title) for entry in FIGURES.values()]
        write_table(terminal_table((Column("name"), Column("figure")), rows))
        return
    chosen = figure(name)
    default = str(Path("out", "reproduce", name))
    folder = output_folder(default if out is None else out, "--out")
    with progress(f"reproduce {name}") as tell:
        reproduction = chosen.run(tell)
        paths = reproduction.save(folder)
    write_table(reproduction.data_table())
    write_table(reproduction.comparison_table())
    for note in chosen.notes:
        write_text(f"note: {note}")
    for path in paths:
        say(f"wrote {path}")
