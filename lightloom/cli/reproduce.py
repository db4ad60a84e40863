"""``lightloom reproduce``: figures of papers, ours beside theirs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import progress, say, write_table, write_text
from lightloom.cli.files import output_folder
from lightloom.cli.options import (
    argument,
    command,
    figure_names,
    option,
)
from lightloom.cli.run_jobs import SCHEDULER, run_jobs, workers_option
from lightloom.core.errors import InputError, NoAnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.bench.results import Row
    from lightloom.core.catalogue import Catalogue
    from lightloom.papers.every_figure import FigureJob
    from lightloom.papers.reproduction import Figure

RESULTS_FILE, INDEX_FILE = "results.jsonl", "index.html"
"""What stands beside the folders of all figures."""
_FOLDER = Path("out", "reproduce")


@command
def reproduce_command(
    *,
    name: str | None = argument(shell_complete=figure_names),
    every: bool = option("Every figure, and an index.", "--all"),
    out: str | None = option(
        "Folder for the files.  [default: out/reproduce/NAME, or out/reproduce/all]",
        metavar="DIR",
    ),
    logs: str | None = option(
        "Folder of the communication logs that the authors of LUMORPH publish, for"
        " lumorph-fig10 and lumorph-fig11: their calls instead of ours.",
        metavar="DIR",
    ),
    workers: int | None = workers_option("its cores"),
    scheduler: str | None = SCHEDULER,
) -> None:
    """Compute a figure of a paper and compare it with the paper.

    Without NAME: list the figures, with about how long each takes. Schedules of
    collectives are synthesised, verified and replayed; training iterations are replayed
    on circuits that no schedule file holds and `verify` does not see; networks of tens
    of thousands of nodes are estimated. Nothing is tuned to the paper. A claim matches
    if every number that it is about is in its band. Leaves data.csv, comparison.csv,
    NAME.png and NAME.svg.

    --all computes every figure, each in a process of its own, and leaves index.html:
    one page, every claim beside ours. What the folder holds already, made by this
    version, is not computed again: an interrupted run goes on where it stopped. Exit
    code 3 if a figure failed.
    """
    if every:
        if name is not None or logs is not None:
            raise click.UsageError("--all takes neither a NAME nor --logs")
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
    from lightloom.report.tables import terminal_table

    rows = [(one.name, one.title, f"{one.takes_s} s") for one in FIGURES.values()]
    columns = ("name", "figure", "takes about#")
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


def reproduce_all(
    figures: Catalogue[Figure],
    folder: Path,
    scheduler: str | None,
    workers: int | None,
) -> None:
    """Compute what a folder does not hold yet, and index it.

    `folder`: made if it is not there. Holds a folder a figure, `RESULTS_FILE` with a
    row for each that was computed, and `INDEX_FILE`.

    Raises `InputError`: there is no such scheduler, or the results file is no results
    file; `NoAnswerError`: a figure failed; the others, and the index, are there.
    """
    from lightloom.bench.results import ResultsFile, read_results
    from lightloom.bench.sweep import pending
    from lightloom.papers.every_figure import figure_jobs, rows_with_files

    folder.mkdir(parents=True, exist_ok=True)
    jobs = figure_jobs(figures, folder)
    path = folder / RESULTS_FILE
    with ResultsFile(path) as file:
        todo = pending(jobs, rows_with_files(jobs, file.rows))
        takes_s = sum(figures.get(job.name).takes_s for job in todo)
        told = f"{folder}: {len(jobs)} figures, {len(todo)} to be computed"
        say(f"{told}, about {takes_s} s of a processor" if todo else told)
        try:
            if todo:
                cores = len(os.sched_getaffinity(0))
                count = workers or cores
                run_jobs("reproduce", todo, file, scheduler, count, _told)
        except InputError:
            raise  # nothing was begun
        except BaseException:
            _index(jobs, read_results(path), folder / INDEX_FILE)
            raise
        failed = _index(jobs, read_results(path), folder / INDEX_FILE)
    if failed:
        what, fix = "figures failed: " + ", ".join(failed), "the index says why"
        raise NoAnswerError(what, where=str(folder / INDEX_FILE), fix=fix)


def _told(row: Row) -> str:
    """Return what is told of a figure: how long it took, or how it ended."""
    finding = row.finding
    how = f"{finding.solve_s or 0:.1f} s" if row.solved else str(finding.ending)
    return f"{row.instance}: {how}"


def _index(jobs: Sequence[FigureJob], rows: Sequence[Row], path: Path) -> list[str]:
    """Write the index unless it is there, print it, and return what failed."""
    from lightloom.formats.atomic import atomic_write
    from lightloom.papers.every_figure import index_page, rows_with_files

    names = {job.key: job.name for job in jobs}
    done = {row.instance: row for row in rows_with_files(jobs, rows)}
    last = {row.instance: row for row in rows if row.key in names}
    failed = {
        name: row for name, row in last.items() if name not in done and not row.solved
    }
    page = index_page(jobs, done, failed).encode()
    if not path.is_file() or path.read_bytes() != page:
        with atomic_write(path) as file:
            file.write(page)
        say(f"wrote {path}")
    _print_figures(jobs, done, failed)
    return sorted(failed)


def _print_figures(
    jobs: Sequence[FigureJob], done: Mapping[str, Row], failed: Mapping[str, Row]
) -> None:
    """Print a line for each figure: its verdicts and its time, or what went wrong."""
    from lightloom.papers.claims import ClaimVerdict
    from lightloom.papers.every_figure import verdict_counts
    from lightloom.report.tables import terminal_table

    lines: list[list[str | int]] = []
    for job in sorted(jobs, key=lambda job: job.name):
        if job.name in done:
            counts = verdict_counts(job)
            numbers = [counts[verdict] for verdict in ClaimVerdict]
            took = f"{done[job.name].finding.solve_s or 0:.1f} s"
            lines.append([job.name, *numbers, took])
        elif job.name in failed:
            lines.append([job.name, "", "", "", str(failed[job.name].finding.ending)])
        else:
            lines.append([job.name, "", "", "", "not computed"])
    verdicts = (f"{verdict}#" for verdict in ClaimVerdict)
    write_table(terminal_table(("figure", *verdicts, "took#"), lines))
