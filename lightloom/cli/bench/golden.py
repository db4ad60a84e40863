"""``lightloom bench golden``: cells asked again, judged by their stored answers."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lightloom.cli.bench import BENCH_SUMMARIES
from lightloom.cli.bench.run_jobs import run_jobs, worker_options
from lightloom.cli.console import say, write_table, write_text
from lightloom.cli.failure import INVALID
from lightloom.cli.output_paths import check_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.bench.golden import GoldenChange
    from lightloom.bench.results import Row

_SHOWN = 60
"""Most changes in the table, whose title says how many there are."""


@click.command(
    "golden",
    help=BENCH_SUMMARIES["golden"]
    + "\n\nA cell is a run of the suites golden, demands, ocs, ring, rounds, routing"
    " and placement by our own code. Rows are kept: an interrupted look goes on where"
    " it stopped. Exit code 1 if an answer is worse by more than 0.1 %, or a bound"
    " weaker by more than 1 % or weaker and of another kind.",
)
@click.option(
    "--results",
    metavar="FILE",
    default="bench-golden.jsonl",
    show_default=True,
    help="Results to continue.",
)
@functools.partial(worker_options, default="its cores")
@click.option(
    "--only",
    metavar="TEXT",
    multiple=True,
    help="Cells whose problem, instance and solver contain this; repeatable.",
)
@click.option(
    "--every",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="K",
    help="One cell in K.",
)
@click.option("--quick", is_flag=True, help="About 150 cells that are answered soon.")
@click.option("--slow", is_flag=True, help="Those of more than 20 processor seconds.")
@click.option(
    "--answers",
    metavar="FILE",
    help="Stored answers.  [default: those of lightloom]",
)
@click.option("--write", is_flag=True, help="Store what is found instead of judging.")
@click.pass_context
def command(
    ctx: click.Context,
    results: str,
    workers: int | None,
    scheduler: str | None,
    only: tuple[str, ...],
    every: int,
    answers: str | None,
    *,
    quick: bool,
    slow: bool,
    write: bool,
) -> None:
    """Ask cells again, and judge or store what they come to."""
    from lightloom.bench import golden
    from lightloom.bench.results import ResultsFile
    from lightloom.bench.sweep import pending

    path = golden.STORED if answers is None else Path(answers)
    check_output(results, "--results", str(path), compressible=False)
    if write:
        check_output(str(path), "--answers", results, compressible=False)
    stored, every_job = golden.read_answers(path), golden.golden_jobs()
    jobs = golden.chosen(
        every_job, stored, only=only, every=every, quick=quick, slow=slow
    )
    with ResultsFile(results) as file:
        todo = pending(jobs, file.rows)
        say(f"golden: {len(jobs)} cells, {len(jobs) - len(todo)} of them in {results}")
        count = workers or len(os.sched_getaffinity(0))
        made = run_jobs("bench", todo, file, scheduler, count) if todo else ()
        done = {row.key: row for row in (*file.rows, *made)}
        rows = [done[job.key] for job in jobs]
    if write:
        _store(path, rows)
        return
    known = [row for row in rows if golden.cell_key(row) in stored]
    found = [
        change
        for row in known
        for change in golden.changes(row, stored[golden.cell_key(row)])
    ]
    before_s = sum(stored[golden.cell_key(row)].cpu_s for row in known)
    after_s = sum(golden.answer_of(row).cpu_s for row in known)
    _print(found)
    write_text(
        f"{len(rows)} cells, {len(rows) - len(known)} without a stored answer;"
        f" {sum(change.worse for change in found)} changes for the worse;"
        f" processor seconds {before_s:.0f} before, {after_s:.0f} now"
    )
    if any(change.worse for change in found):
        ctx.exit(INVALID)


def _store(path: Path, rows: Sequence[Row]) -> None:
    """Store the answers of rows, and keep those of cells that were not asked."""
    from lightloom.bench import golden
    from lightloom.formats.atomic import atomic_write

    answers = golden.read_answers(path)
    answers |= {golden.cell_key(row): golden.answer_of(row) for row in rows}
    kept = [
        answers[key]
        for key in map(golden.cell_key, golden.golden_jobs())
        if key in answers
    ]
    with atomic_write(path) as file:
        file.write(golden.answers_text(kept).encode())
    say(f"wrote {path}: {len(kept)} cells, {len(rows)} of them asked now")


def _print(found: Sequence[GoldenChange]) -> None:
    """Print the changes, those for the worse first."""
    from lightloom.report.tables import Column, terminal_table

    headings = ("cell", "what", "before", "after", "allowed")
    ordered = sorted(found, key=lambda change: not change.worse)
    lines = [
        (one.cell, one.what, one.before, one.after, "no" if one.worse else "yes")
        for one in ordered[:_SHOWN]
    ]
    title = f"{len(found)} changes"
    if len(found) > _SHOWN:
        title += f"; the first {_SHOWN}"
    if lines:
        write_table(terminal_table([*map(Column, headings)], lines, title=title))
