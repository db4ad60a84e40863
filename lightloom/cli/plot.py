"""``lightloom plot``: a picture of a schedule."""

from __future__ import annotations

from pathlib import Path

import click

from lightloom.cli.console import progress, say
from lightloom.cli.failure import about
from lightloom.cli.files import check_output, read_schedule_file
from lightloom.cli.options import (
    argument,
    command,
    option,
    output_option,
)


@command
def plot_command(
    *,
    files: tuple[str, ...] = argument("FILES"),
    output: str = output_option("File to write: .png, .svg or .pdf.", "PICTURE"),
    step: int | None = option(
        "Draw this step instead, configuration by configuration: the fabric with its"
        " circuits, or switch by switch.",
        type=click.IntRange(min=0),
    ),
    paper: str | None = option(
        "Width of a column (3.5 in) or a page (7.16 in) of a paper.",
        type=click.Choice(["column", "page"]),
    ),
) -> None:
    """Draw a schedule: circuits, time line, traffic, time and bound.

    FILES is a schedule, or two to be drawn side by side on the same scales: the
    circuits of the fullest configuration, the time line of every plane, who sends to
    whom, and where the time of a node goes, beside the proven bound. The suffix of the
    output says the kind of picture. A file may be - for stdin.
    """
    from lightloom.report.plots import check_picture, save_panels
    from lightloom.report.schedule_panels import (
        paired_panels,
        schedule_panels,
        summary_title,
    )

    path = Path(output)
    check_picture(path)
    if len(files) > 2:
        raise click.UsageError("one schedule, or two side by side")
    check_output(output, "--output", *files)
    with progress("plot") as tell:
        schedules = [read_schedule_file(file, tell) for file in files]
        tell("replaying and drawing")
        with about(" or ".join(files)):
            if step is not None:
                from lightloom.report.schedule_panels import step_panels

                panels = tuple(
                    panel for one in schedules for panel in step_panels(one, step)
                )
            elif len(files) == 1:
                panels = schedule_panels(schedules[0])
            else:
                both = (schedules[0], schedules[1])
                names = Path(files[0]).name, Path(files[1]).name
                panels = paired_panels(both, names)
        # Two have their names above every panel, and a paper has captions.
        alone = len(files) == 1 and paper is None
        title = f"{Path(files[0]).name}: {summary_title(schedules[0])}" if alone else ""
        wide = 4 if step is not None and len(panels) > 4 else 2
        even = len(files) == 2
        save_panels(panels, path, title=title, columns=wide, even=even, paper=paper)
    say(f"wrote {output}")
