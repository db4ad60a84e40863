"""``lightloom bench run``: a suite to rows of results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lightloom.cli.bench import BENCH_SUMMARIES
from lightloom.cli.bench.run_jobs import run_jobs, worker_options
from lightloom.cli.console import say, write_json, write_table, write_text
from lightloom.cli.failure import INVALID
from lightloom.cli.output_paths import check_output
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.bench.job import BenchJob


@click.command(
    "run",
    help=BENCH_SUMMARIES["run"]
    + "\n\nSUITE is a name of `lightloom bench list` or a TOML file. A question that"
    " the results file answers for this version of its solver is not asked again; an"
    " interrupted sweep goes on where it stopped. Crashes, lack of memory and time are"
    " rows. Exit code 1 if an answer was wrong or two contradict each other.",
)
@click.argument("suite")
@click.option(
    "--results",
    metavar="FILE",
    help="Results to continue.  [default: bench-SUITE.jsonl]",
)
@worker_options
@click.option(
    "--problem",
    "problems",
    metavar="NAME",
    multiple=True,
    help="Only this problem of the suite; repeatable.",
)
@click.option("--again", is_flag=True, help="Ask what was answered already, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context,
    suite: str,
    results: str | None,
    workers: int | None,
    scheduler: str | None,
    problems: tuple[str, ...],
    *,
    again: bool,
    as_json: bool,
) -> None:
    """Run, append, and say what the suite's rows show."""
    from lightloom.bench.analysis import contradictions
    from lightloom.bench.results import Ending, ResultsFile
    from lightloom.bench.suite import load_suite
    from lightloom.bench.sweep import pending, tally

    asked = load_suite(suite)
    jobs = _chosen(asked.jobs, problems)
    path = f"bench-{Path(suite).stem}.jsonl" if results is None else results
    check_output(path, "--results", suite, compressible=False)
    with ResultsFile(path) as file:
        todo = jobs if again else pending(jobs, file.rows)
        say(f"{suite}: {len(jobs)} runs, {len(jobs) - len(todo)} of them in {path}")
        made = run_jobs("bench", todo, file, scheduler, workers) if todo else ()
        place = {job.key: place for place, job in enumerate(jobs)}
        rows = [row for row in (*file.rows, *made) if row.key in place]
        rows.sort(key=lambda row: place[row.key])
    faults = [
        f"{row.problem} {row.instance}: {row.label} is wrong: {row.finding.detail}"
        for row in rows
        if row.finding.ending is Ending.WRONG
    ]
    faults += contradictions(rows)
    if as_json:
        from lightloom.cli.bench.tables import summary_records

        write_json(
            {
                "suite": suite,
                "results": path,
                "runs": len(jobs),
                "made": len(made),
                "faults": faults,
                "summary": summary_records(rows),
            }
        )
    else:
        from lightloom.cli.bench.tables import summary_table

        write_table(summary_table(rows))
        write_text(f"{path}: {len(rows)} rows: {tally(rows)}")
    for fault in faults:
        say(f"FAULT: {fault}")
    if faults:
        ctx.exit(INVALID)


def _chosen(
    jobs: Sequence[BenchJob], problems: tuple[str, ...]
) -> tuple[BenchJob, ...]:
    """Return the jobs of some problems, or all."""
    known = sorted({job.problem for job in jobs})
    for problem in problems:
        if problem not in known:
            what, allowed = "unknown problem of the suite", ", ".join(known)
            raise InputError(what, where="--problem", found=problem, allowed=allowed)
    return tuple(job for job in jobs if not problems or job.problem in problems)
