"""``lightloom replay``: how long a schedule takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import (
    counted,
    progress,
    say,
    write_json,
    write_table,
    write_text,
)
from lightloom.cli.failure import about
from lightloom.cli.files import STDOUT, check_output, read_schedule_file
from lightloom.cli.options import (
    JSON,
    argument,
    command,
    option,
)
from lightloom.core.units import format_ps
from lightloom.report.bandwidth import bandwidth

if TYPE_CHECKING:
    from lightloom.core.task import Task
    from lightloom.replay import Timeline


@command
def replay_command(
    *,
    file: str = argument("FILE"),
    as_json: bool = JSON,
    trace: str | None = option(
        "Also write a trace (JSON) that Perfetto and chrome://tracing open.",
        metavar="TRACE",
    ),
) -> None:
    """Execute a schedule in time and say how long it takes.

    Replay ignores what FILE claims of itself. FILE may be - for stdin.
    """
    if trace == STDOUT:
        what = "--trace - and what replay says both need stdout; name a file"
        raise click.UsageError(what)
    from lightloom.replay import replay

    if trace is not None:
        check_output(trace, "--trace", file)
    with progress("replay") as tell:
        schedule = read_schedule_file(file, tell)
        tell("executing")
        with about(file):
            timeline = replay(schedule)
        if trace is not None:
            from lightloom.formats.json_file import write_trace
            from lightloom.replay.trace import trace_events

            tell(f"writing {trace}")
            write_trace(trace_events(schedule, timeline), Path(trace))
    if trace is not None:
        say(f"trace written to {trace}")
    if as_json:
        write_json(timeline_record(file, timeline, schedule.task))
        return
    from lightloom.report.result_tables import round_table

    write_table(round_table(timeline))
    write_text(_text(file, timeline, schedule.task))


def timeline_record(file: str, timeline: Timeline, task: Task) -> dict[str, object]:
    """Return a timeline as its documented JSON object."""
    rates = bandwidth(task, timeline.completion_time_ps)
    return {
        "file": file,
        "completion_time_ps": timeline.completion_time_ps,
        "every_round_charged_ps": timeline.every_round_charged_ps,
        "steps": len(timeline.steps),
        "reconfigurations": len(timeline.reconfigurations),
        "utilisation": _fraction(timeline),
        "bandwidth": rates and rates.record(),
        "rounds": [asdict(step) for step in timeline.steps],
        "nodes": {key: column.tolist() for key, column in vars(timeline.nodes).items()},
    }


def _fraction(timeline: Timeline) -> float | None:
    """Return the used share of the nodes' rate, ``None`` if nothing moves."""
    used = timeline.utilisation
    return round(used.moved / used.possible, 6) if used.possible else None


def _text(file: str, timeline: Timeline, task: Task) -> str:
    fraction = _fraction(timeline)
    used = "" if fraction is None else f", {100 * fraction:.1f} % of the nodes' rate"
    text = (
        f"{file}: completion time {format_ps(timeline.completion_time_ps)},"
        f" {counted(len(timeline.steps), 'step')},"
        f" {counted(len(timeline.reconfigurations), 'reconfiguration')}{used}"
    )
    if rates := bandwidth(task, timeline.completion_time_ps):
        text += f"\n  {rates}"
    if timeline.reconfigurations:
        charged = format_ps(timeline.every_round_charged_ps)
        text += f"\n  if every round paid for its reconfiguration: {charged}"
    return text
