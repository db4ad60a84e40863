"""``lightloom bench report``: tables and plots of a results file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.bench import BENCH_SUMMARIES
from lightloom.cli.console import say, write_json, write_table, write_text
from lightloom.cli.output_paths import output_folder
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.bench.results import Row


@click.command(
    "report",
    help=BENCH_SUMMARIES["report"]
    + "\n\nRESULTS is a file that `lightloom bench run` wrote. Gaps in the table are"
    " those to the best bound with a checked witness, whoever found it. --out"
    " leaves rows.csv and, for each problem, a performance profile, the gap against"
    " time, and the seconds against the size, as PNG and SVG.",
)
@click.argument("results")
@click.option("--suite", metavar="NAME", help="Only rows that this suite asked for.")
@click.option("--out", metavar="DIR", help="Folder for plots and rows.csv.")
@click.option("--runs", is_flag=True, help="A line for each run, not a summary.")
@click.option("--markdown", is_flag=True, help="Print the table in Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    results: str,
    suite: str | None,
    out: str | None,
    *,
    runs: bool,
    markdown: bool,
    as_json: bool,
) -> None:
    """Print the table, and draw if there is a folder."""
    from lightloom.bench.analysis import contradictions
    from lightloom.bench.results import read_results
    from lightloom.cli.bench.tables import (
        runs_page,
        runs_table,
        summary_page,
        summary_records,
        summary_table,
    )

    rows = read_results(results)
    folder = None if out is None else output_folder(out, "--out")
    if suite is not None:
        rows = _of_suite(rows, suite, results)
    faults = contradictions(rows)
    if as_json:
        write_json(
            {"results": results, "faults": faults, "summary": summary_records(rows)}
        )
    elif markdown:
        write_text(runs_page(rows) if runs else summary_page(rows))
    elif rows:
        write_table(runs_table(rows) if runs else summary_table(rows))
    else:
        write_text(f"{results}: no rows yet")
    for fault in faults:
        say(f"FAULT: {fault}")
    if folder is not None:
        from lightloom.cli.bench.drawing import save_report

        folder.mkdir(parents=True, exist_ok=True)
        for path in save_report(rows, folder):
            say(f"wrote {path}")


def _of_suite(rows: Sequence[Row], suite: str, results: str) -> tuple[Row, ...]:
    known = sorted({row.suite for row in rows})
    if suite not in known:
        what, allowed = f"no rows of this suite in {results}", ", ".join(known)
        raise InputError(what, where="--suite", found=suite, allowed=allowed)
    return tuple(row for row in rows if row.suite == suite)
