"""``lightloom plot``: a picture of a schedule."""

from __future__ import annotations

from pathlib import Path

import click

from lightloom.cli.console import say
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.progress import progress
from lightloom.cli.schedule_file import read_schedule_file
from lightloom.core.errors import InputError, LightloomError


@click.command(
    "plot",
    help=SUMMARIES["plot"]
    + "\n\nThe time line of every plane, what its steps move, and who sends to whom."
    " The suffix of the output says the kind of picture. FILE may be - for stdin.",
)
@click.argument("file", metavar="FILE")
@click.option(
    "-o",
    "--output",
    metavar="PICTURE",
    required=True,
    help="File to write: .png, .svg or .pdf.",
)
def command(file: str, output: str) -> None:
    """Read a schedule, replay it, draw it."""
    from lightloom.report.plots import FILE_KINDS, save_panels
    from lightloom.report.schedule_panels import schedule_panels

    path = Path(output)
    if path.suffix not in FILE_KINDS:
        what, allowed = "unknown kind of picture", ", ".join(FILE_KINDS)
        raise InputError(what, where="--output", found=output, allowed=allowed)
    check_output(output, "--output", file)
    with progress("plot") as tell:
        tell(f"reading {file}")
        schedule = read_schedule_file(file)
        tell("replaying and drawing")
        try:
            panels = schedule_panels(schedule)
        except LightloomError as problem:
            problem.where = f"{file}: {problem.where}" if problem.where else file
            raise
        save_panels(panels, path, columns=2)
    say(f"wrote {output}")
