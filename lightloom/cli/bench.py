"""``lightloom bench``: suites of runs, their results, and what they show."""

from __future__ import annotations

import inspect
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from lightloom.cli.console import say, write_json, write_table, write_text
from lightloom.cli.failure import INVALID, as_given
from lightloom.cli.files import check_output, output_folder
from lightloom.cli.main import SUMMARIES, LazyGroup
from lightloom.cli.options import JSON, argument, command, option
from lightloom.cli.run_jobs import SCHEDULER, run_jobs, workers_option
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.bench.golden import GoldenChange
    from lightloom.bench.job import BenchJob
    from lightloom.bench.results import Row

BENCH_SUMMARIES = {
    "run": "Run what is missing of a suite, each run isolated and verified.",
    "list": "List the built-in suites and the instance families.",
    "report": "Tables and plots of a results file.",
    "golden": "Ask cells with stored answers again; say what became worse.",
    "pages": "Make the tables of pages anew, from stored answers.",
    "compare": "What changed between two results files, beyond noise.",
}


class _BenchGroup(LazyGroup):
    """``lightloom bench smoke`` is short for ``lightloom bench run smoke``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the arguments; a suite stands for running it."""
        name = args[0]
        if name in self.summaries or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from lightloom.bench.suite import built_in_suites

        suites = built_in_suites()
        if name.endswith(".toml") or name in suites:
            return super().resolve_command(ctx, ["run", *args])
        known = [*self.summaries, *suites]
        what = f"unknown command or suite {name!r}; allowed: {', '.join(known)}"
        what += ", or a .toml file"
        meant = nearest(name, known)
        raise click.UsageError(f"{what}; {meant}" if meant else what, ctx)


bench_command = _BenchGroup(
    name="bench",
    package="lightloom.cli",
    modules=dict.fromkeys(BENCH_SUMMARIES, "bench"),
    summaries=BENCH_SUMMARIES,
    help=SUMMARIES["bench"]
    + "\n\nA suite says which problems, on which instances, by whom, within which"
    " limits. Results are one line a run, whatever became of it, and are only ever"
    " appended to. `lightloom bench smoke` is short for `lightloom bench run smoke`.",
    no_args_is_help=True,
)


_SHOWN = 60
"""Most changes in a table, whose title says how many there are."""


@command
def run_command(
    *,
    suite: str = argument(),
    results: str | None = option(
        "Results to continue.  [default: bench-SUITE.jsonl]", metavar="FILE"
    ),
    workers: int | None = workers_option(),
    scheduler: str | None = SCHEDULER,
    problems: tuple[str, ...] = option(
        "Only this problem of the suite; repeatable.", "--problem", metavar="NAME"
    ),
    again: bool = option("Ask what was answered already, too."),
    as_json: bool = JSON,
) -> int:
    """Run what is missing of a suite, each run isolated and verified.

    SUITE is a name of `lightloom bench list` or a TOML file. A question that the
    results file answers for this version of its solver is not asked again; an
    interrupted sweep goes on where it stopped. Crashes, lack of memory and time are
    rows. Exit code 1 if an answer was wrong or two contradict each other.
    """
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
        from lightloom.cli.bench_report import summary_records

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
        from lightloom.cli.bench_report import summary
        from lightloom.report.tables import terminal_table

        write_table(terminal_table(*summary(rows)))
        write_text(f"{path}: {len(rows)} rows: {tally(rows)}")
    for fault in faults:
        say(f"FAULT: {fault}")
    return INVALID if faults else 0


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


@command
def list_command(*, as_json: bool = JSON) -> None:
    """List the built-in suites and the instance families.

    Families are what a suite of your own draws instances from, measures who takes part
    in its problem `measure`, each with parameters and defaults.
    """
    from lightloom.bench.families import FAMILIES
    from lightloom.bench.measures import MEASURES
    from lightloom.bench.suite import built_in_suites

    suites = built_in_suites()
    families = {
        family.name: (_parameters(family.make), family.summary)
        for _, family in sorted(FAMILIES.items())
    }
    measures = {
        one.name: (f"{_parameters(one.run, 2)} stage={one.stages[-1]}", one.summary)
        for _, one in sorted(MEASURES.items())
    }
    if as_json:
        write_json(
            {
                "suites": suites,
                "families": _records(families),
                "measures": _records(measures),
            }
        )
        return
    from lightloom.report.tables import terminal_table

    write_table(terminal_table(("suite", "what it is for"), suites.items()))
    for noun, listed in (("family", families), ("measure", measures)):
        headings = (noun, "parameters", "what it is")
        rows = [(name, *told) for name, told in listed.items()]
        write_table(terminal_table(headings, rows))


def _records(listed: dict[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {
        name: {"parameters": parameters, "summary": summary}
        for name, (parameters, summary) in listed.items()
    }


def _parameters(make: Callable[..., object], skipped: int = 0) -> str:
    """Return the parameters of a function behind the first, with their defaults."""
    taken = list(inspect.signature(make).parameters.values())[skipped:]
    return " ".join(
        one.name if one.default is one.empty else f"{one.name}={one.default}"
        for one in taken
    )


@command
def report_command(
    *,
    results: str = argument(),
    suite: str | None = option("Only rows that this suite asked for.", metavar="NAME"),
    out: str | None = option("Folder for plots and rows.csv.", metavar="DIR"),
    runs: bool = option("A line for each run, not a summary."),
    markdown: bool = option("Print the table in Markdown."),
    as_json: bool = JSON,
) -> None:
    """Tables and plots of a results file.

    RESULTS is a file that `lightloom bench run` wrote. Gaps in the table are those to
    the best bound with a checked witness, whoever found it. --out leaves rows.csv and,
    for each problem, a performance profile, the gap against time, and the seconds
    against the size, as PNG and SVG.
    """
    from lightloom.bench.analysis import contradictions
    from lightloom.bench.results import read_results
    from lightloom.cli import bench_report as tables
    from lightloom.report.tables import markdown_table, terminal_table

    rows = read_results(results)
    folder = None if out is None else output_folder(out, "--out")
    if suite is not None:
        rows = _of_suite(rows, suite, results)
    faults = contradictions(rows)
    if as_json:
        found = tables.summary_records(rows)
        write_json({"results": results, "faults": faults, "summary": found})
    elif markdown or rows:
        cells = tables.runs(rows) if runs else tables.summary(rows)
        if markdown:
            write_text(markdown_table(*cells))
        else:
            write_table(terminal_table(*cells))
    else:
        write_text(f"{results}: no rows yet")
    for fault in faults:
        say(f"FAULT: {fault}")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for path in tables.save_report(rows, folder):
            say(f"wrote {path}")


def _of_suite(rows: Sequence[Row], suite: str, results: str) -> tuple[Row, ...]:
    known = sorted({row.suite for row in rows})
    if suite not in known:
        what, allowed = f"no rows of this suite in {results}", ", ".join(known)
        raise InputError(what, where="--suite", found=suite, allowed=allowed)
    return tuple(row for row in rows if row.suite == suite)


@command
def golden_command(
    *,
    results: str = option(
        "Results to continue.", metavar="FILE", default="bench-golden.jsonl"
    ),
    workers: int | None = workers_option("its cores"),
    scheduler: str | None = SCHEDULER,
    only: tuple[str, ...] = option(
        "Cells whose problem, instance and solver contain this; repeatable.",
        metavar="TEXT",
    ),
    every: int = option(
        "One cell in K.", type=click.IntRange(1), default=1, metavar="K"
    ),
    quick: bool = option("About 150 cells that are answered soon."),
    slow: bool = option("Those of more than 20 processor seconds."),
    answers: str | None = option(
        "Stored answers.  [default: those of lightloom]", metavar="FILE"
    ),
    write: bool = option("Store what is found instead of judging."),
) -> int:
    """Ask cells with stored answers again; say what became worse.

    A cell is a run of the suites golden, demands, ocs, ring, rounds, routing and
    placement by our own code. Rows are kept: an interrupted look goes on where it
    stopped. Exit code 1 if an answer is worse by more than 0.1 %, or a bound weaker by
    more than 1 % or weaker and of another kind.
    """
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
        return 0
    known = [row for row in rows if golden.cell_key(row) in stored]
    found = [
        change
        for row in known
        for change in golden.changes(row, stored[golden.cell_key(row)])
    ]
    before_s = sum(stored[golden.cell_key(row)].cpu_s for row in known)
    after_s = sum(golden.answer_of(row).cpu_s for row in known)
    _print_changes(found)
    write_text(
        f"{len(rows)} cells, {len(rows) - len(known)} without a stored answer;"
        f" {sum(change.worse for change in found)} changes for the worse;"
        f" processor seconds {before_s:.0f} before, {after_s:.0f} now"
    )
    return INVALID if any(change.worse for change in found) else 0


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


def _print_changes(found: Sequence[GoldenChange]) -> None:
    """Print the changes, those for the worse first."""
    from lightloom.report.tables import terminal_table

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
        write_table(terminal_table(headings, lines, title=title))


@command
def pages_command(
    *,
    pages: tuple[str, ...] = argument("PAGE..."),
    check: bool = option("Write nothing; say which pages are old."),
    store: tuple[str, str] | None = option(
        "Store what the rows of RESULTS came to as FILE first.",
        nargs=2,
        metavar="RESULTS FILE",
    ),
) -> int:
    """Make the tables of pages anew, from stored answers.

    Each PAGE is a Markdown file. A table stands between a comment that says in TOML
    what it shows, behind `<!-- table`, and `<!-- table ends -->`. It is made from the
    answers of the golden cells, or from a CSV file that --store wrote. Exit code 1 if
    --check finds a page that is not what the answers say.
    """
    from lightloom.bench.golden import answers_text
    from lightloom.bench.pages import rewritten, stored_answers
    from lightloom.bench.results import read_results
    from lightloom.formats.atomic import atomic_write
    from lightloom.formats.text_file import read_text

    if not pages and store is None:
        raise InputError("nothing to do", fix="name pages, or --store RESULTS FILE")
    if store is not None:
        results, path = store
        check_output(path, "--store", results, compressible=False)
        answers = stored_answers(read_results(results))
        with atomic_write(path) as file:
            file.write(answers_text(answers).encode())
        say(f"wrote {path}: {len(answers)} answers")
    old = False
    for page in pages:
        before = read_text(page)
        after = rewritten(before, Path(page))
        if after == before:
            continue
        old = True
        if check:
            say(f"{page}: tables differ from the stored answers")
            continue
        with atomic_write(page) as file:
            file.write(after.encode())
        say(f"wrote {page}")
    return INVALID if check and old else 0


@command
def compare_command(
    *,
    a: str = argument(),
    b: str = argument(),
    measure: Literal["cpu", "wall"] = option(
        "Processor seconds, or seconds on the wall clock.",
        "--time",
        default="cpu",
    ),
    confidence: float = option("Of the intervals.", default=0.95),
    as_json: bool = JSON,
) -> None:
    """What changed between two results files, beyond noise.

    Runs are paired by problem, instance, solver, parameters, limits and seed. The ratio
    is the geometric mean of B's seconds over A's, with an interval by Student's t over
    the logarithms. Noise is the factor by which repetitions of the same questions
    differ (`bench run --again` adds them to a file). A change is one beyond both.
    """  # noqa: D401  (its subject is "what changed")
    from lightloom.bench.analysis import compare
    from lightloom.bench.results import read_results

    before, after = read_results(a), read_results(b)
    with as_given(confidence="--confidence"):
        found = compare(before, after, measure=measure, confidence=confidence)
    if as_json:
        speeds = [{**asdict(one), "verdict": one.verdict} for one in found.speeds]
        write_json({**asdict(found), "speeds": speeds})
        return
    from lightloom.cli.bench_report import change_table, speed_table

    write_table(speed_table(found))
    if found.changes:
        write_table(change_table(found, _SHOWN))
    else:
        write_text("no ending, answer or bound changed")
    if found.only_before or found.only_after:
        write_text(f"unpaired: {found.only_before} in {a}, {found.only_after} in {b}")
