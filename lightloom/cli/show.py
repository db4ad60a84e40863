"""``lightloom show``: a schedule as a page that any browser opens."""

from __future__ import annotations

from pathlib import Path

import click

from lightloom.cli.console import write_text
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.progress import progress
from lightloom.cli.schedule_file import read_schedule_file


@click.command(
    "show",
    help=SUMMARIES["show"]
    + "\n\nFILE is a schedule file. The page is one file and asks nothing of a network:"
    " the fabric and its circuits step by step, the time line, where the time goes, how"
    " a chunk travels, and the verdict. A file that breaks rules is shown with what is"
    " wrong.",
)
@click.argument("file", metavar="FILE")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Page to write.  [default: FILE with .html in place of its suffixes]",
)
def command(file: str, output: str | None) -> None:
    """Read, judge, replay, and write the page."""
    from lightloom.report.schedule_page import schedule_page

    name = Path(file).name.partition(".")[0] or "schedule"
    page = Path(f"{name}.html") if output is None else Path(output)
    check_output(str(page), "--output", file, compressible=False)
    with progress("show") as tell:
        tell(f"reading {file}")
        schedule = read_schedule_file(file)
        tell("verifying and replaying")
        schedule_page(schedule, Path(file).name).save(page)
    write_text(f"{page}: {page.stat().st_size:,} bytes; open it in a browser")
