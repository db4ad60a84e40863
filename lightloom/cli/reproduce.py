"""``lightloom reproduce``: a figure of a paper, ours beside theirs."""

from __future__ import annotations

from pathlib import Path

import click

from lightloom.cli.completion import figure_names
from lightloom.cli.console import say, write_table, write_text
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import output_folder
from lightloom.cli.progress import progress
from lightloom.core.errors import InputError


@click.command(
    "reproduce",
    help=SUMMARIES["reproduce"]
    + "\n\nWithout NAME: list the figures, with about how long each takes. Schedules of"
    " collectives are synthesised, verified and replayed; training iterations are"
    " replayed on circuits that no schedule file holds and `verify` does not see;"
    " networks of tens of thousands of nodes are estimated. Nothing is tuned to the"
    " paper. A claim matches if every number that it is about is in its band. Leaves"
    " data.csv, comparison.csv, NAME.png and NAME.svg.",
)
@click.argument("name", required=False, shell_complete=figure_names)
@click.option(
    "--out",
    metavar="DIR",
    help="Folder for the files.  [default: out/reproduce/NAME]",
)
@click.option(
    "--logs",
    metavar="DIR",
    help="Folder of the communication logs that the authors of LUMORPH publish, for"
    " lumorph-fig10 and lumorph-fig11: their calls instead of ours.",
)
def command(name: str | None, out: str | None, logs: str | None) -> None:
    """Compute a figure, print it beside the paper, and save it."""
    from lightloom.papers import FIGURES, figure

    if name is None:
        from lightloom.report.tables import Column, terminal_table

        rows = [(entry.name, entry.title, entry.takes) for entry in FIGURES.values()]
        columns = (Column("name"), Column("figure"), Column("takes about"))
        write_table(terminal_table(columns, rows))
        return
    chosen = figure(name)
    if logs is not None:
        if "logs" not in chosen.settings:
            what, allowed = "a figure without logs", "lumorph-fig10, lumorph-fig11"
            raise InputError(what, where="--logs", found=name, allowed=allowed)
        chosen = chosen.at(logs=logs)
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
