"""A replay, step by step, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import format_bytes, format_ps
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from lightloom.replay import Timeline
    from lightloom.replay.timeline import StepTime

_COLUMNS = (
    Column("step", number=True),
    Column("plane:segment"),
    Column("transfers", number=True),
    Column("data", number=True),
    Column("released", number=True),
    Column("ended", number=True),
    Column("lasts", number=True),
)
_ENDS = 8
"""Steps shown at either end of a long schedule."""


def round_table(timeline: Timeline) -> Table:
    """Return the steps of a replay; the middle of a long one is left out."""
    return terminal_table(_COLUMNS, _rows(timeline))


def _rows(timeline: Timeline) -> Iterator[tuple[object, ...]]:
    steps = timeline.steps
    if len(steps) <= 2 * _ENDS + 1:
        yield from map(_row, steps)
        return
    yield from map(_row, steps[:_ENDS])
    left_out = f"{len(steps) - 2 * _ENDS} more"
    yield ("...", left_out, *[""] * (len(_COLUMNS) - 2))
    yield from map(_row, steps[-_ENDS:])


def _row(step: StepTime) -> tuple[object, ...]:
    segments = " ".join(f"{plane}:{segment}" for plane, segment in step.segments)
    return (
        step.index,
        segments or None,
        step.transfers,
        format_bytes(step.bytes),
        format_ps(step.release_ps),
        format_ps(step.end_ps),
        format_ps(step.duration_ps),
    )
