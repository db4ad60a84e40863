"""``lightloom reproduce``: figures of papers, ours beside theirs."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from lightloom.cli.bench.run_jobs import worker_options
from lightloom.cli.completion import figure_names
from lightloom.cli.console import progress, say, write_table, write_text
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import output_folder
from lightloom.core.errors import InputError

_FOLDER = Path("out", "reproduce")


@click.command(
    "reproduce",
    help=SUMMARIES["reproduce"]
    + "\n\nWithout NAME: list the figures, with about how long each takes. Schedules of"
    " collectives are synthesised, verified and replayed; training iterations are"
    " replayed on circuits that no schedule file holds and `verify` does not see;"
    " networks of tens of thousands of nodes are estimated. Nothing is tuned to the"
    " paper. A claim matches if every number that it is about is in its band. Leaves"
    " data.csv, comparison.csv, NAME.png and NAME.svg."
    "\n\n--all computes every figure, each in a process of its own, and leaves"
    " index.html: one page, every claim beside ours. What the folder holds already,"
    " made by this version, is not computed again: an interrupted run goes on where it"
    " stopped. Exit code 3 if a figure failed.",
)
@click.argument("name", required=False, shell_complete=figure_names)
@click.option("--all", "every", is_flag=True, help="Every figure, and an index.")
@click.option(
    "--out",
    metavar="DIR",
    help="Folder for the files.  [default: out/reproduce/NAME, or out/reproduce/all]",
)
@click.option(
    "--logs",
    metavar="DIR",
    help="Folder of the communication logs that the authors of LUMORPH publish, for"
    " lumorph-fig10 and lumorph-fig11: their calls instead of ours.",
)
@functools.partial(worker_options, default="its cores")
def command(
    name: str | None,
    out: str | None,
    logs: str | None,
    workers: int | None,
    scheduler: str | None,
    *,
    every: bool,
) -> None:
    """Compute a figure or all, and save them; or list what there is."""
    if every:
        if name is not None or logs is not None:
            raise click.UsageError("--all takes neither a NAME nor --logs")
        from lightloom.cli.reproduce_all import reproduce_all
        from lightloom.papers import FIGURES

        folder = output_folder(str(_FOLDER / "all") if out is None else out, "--out")
        reproduce_all(FIGURES, folder, scheduler, workers)
        return
    if workers is not None or scheduler is not None:
        raise click.UsageError("--workers and --scheduler are for --all")
    if name is None:
        _list()
    else:
        folder = output_folder(str(_FOLDER / name) if out is None else out, "--out")
        _reproduce(name, folder, logs)


def _list() -> None:
    """Print what can be computed."""
    from lightloom.papers import FIGURES
    from lightloom.report.tables import Column, terminal_table

    rows = [(one.name, one.title, f"{one.takes_s} s") for one in FIGURES.values()]
    columns = (Column("name"), Column("figure"), Column("takes about", number=True))
    write_table(terminal_table(columns, rows))


def _reproduce(name: str, folder: Path, logs: str | None) -> None:
    """Compute a figure, print it beside the paper, and save it."""
    from lightloom.papers import figure

    chosen = figure(name)
    if logs is not None:
        if "logs" not in chosen.settings:
            what, allowed = "a figure without logs", "lumorph-fig10, lumorph-fig11"
            raise InputError(what, where="--logs", found=name, allowed=allowed)
        chosen = chosen.at(logs=logs)
    with progress(f"reproduce {name}") as tell:
        reproduction = chosen.run(tell)
        paths = reproduction.save(folder)
    write_table(reproduction.data_table())
    write_table(reproduction.comparison_table())
    for note in chosen.notes:
        write_text(f"note: {note}")
    for path in paths:
        say(f"wrote {path}")
