"""``lightloom show``: a schedule as a page that any browser opens."""

from __future__ import annotations

from pathlib import Path

from lightloom.cli.console import progress, write_text
from lightloom.cli.files import STDOUT, check_output, read_schedule_file
from lightloom.cli.options import (
    argument,
    command,
    output_option,
)
from lightloom.core.errors import InputError

_PICTURES = (".pdf", ".png", ".svg")


@command
def show_command(
    *,
    file: str = argument("FILE"),
    output: str | None = output_option(
        "Page to write; - is stdout.  [default: FILE with .html in place of its"
        " suffixes]"
    ),
) -> None:
    """Write a schedule as a page: fabric, steps, time, verdict.

    FILE is a schedule file. The page is one file and asks nothing of a network: the
    fabric and its circuits step by step, the time line, where the time goes, how a
    chunk travels, and the verdict. A file that breaks rules is shown with what is
    wrong.
    """
    from lightloom.report.schedule_page import schedule_page

    name = Path(file).name.partition(".")[0] or "schedule"
    page = Path(f"{name}.html") if output is None else Path(output)
    check_output(str(page), "--output", file, compressible=False)
    if page.suffix in _PICTURES:
        what, fix = (
            "a page is no picture",
            f"`lightloom plot {file} -o {page}` draws one",
        )
        raise InputError(what, where="--output", found=str(page), fix=fix)
    with progress("show") as tell:
        schedule = read_schedule_file(file, tell)
        tell("verifying and replaying")
        made = schedule_page(schedule, Path(file).name)
        if output != STDOUT:
            made.save(page)
    if output == STDOUT:
        write_text(made.html)
        return
    write_text(f"{page}: {page.stat().st_size:,} bytes; open it in a browser")
