"""Every figure: those that are missing computed, and an index of all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lightloom.cli.bench.run_jobs import run_jobs
from lightloom.cli.console import say, write_table
from lightloom.core.errors import InputError, NoAnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lightloom.bench.results import Row
    from lightloom.core.catalogue import Catalogue
    from lightloom.papers.every_figure import FigureJob
    from lightloom.papers.reproduction import Figure

RESULTS_FILE, INDEX_FILE = "results.jsonl", "index.html"
"""What stands beside the folders of the figures."""


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
    _print(jobs, done, failed)
    return sorted(failed)


def _print(
    jobs: Sequence[FigureJob], done: Mapping[str, Row], failed: Mapping[str, Row]
) -> None:
    """Print a line for each figure: its verdicts and its time, or what went wrong."""
    from lightloom.papers.claims import ClaimVerdict
    from lightloom.papers.every_figure import verdict_counts
    from lightloom.report.tables import Column, terminal_table

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
    columns = [Column("figure")]
    columns += [Column(verdict, number=True) for verdict in ClaimVerdict]
    write_table(terminal_table([*columns, Column("took", number=True)], lines))
