"""What differs between two schedules: settings, sizes, steps, where the time goes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Collective
from lightloom.core.units import format_bytes, format_ps
from lightloom.replay import replay
from lightloom.replay.timeline import time_shares
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from lightloom.core.schedule import Schedule

_TIMES = ("completion_time_ps", "waiting_ps", "fixed_ps", "data_ps")
_NAMES = {
    "completion_time_ps": "completion time",
    "waiting_ps": "  waiting for circuits",
    "fixed_ps": "  fixed costs",
    "data_ps": "  data",
    "bytes_moved": "data moved",
}


@dataclass(frozen=True)
class ScheduleDifference:
    """Two schedules side by side.

    Attributes
    ----------
    settings
        (what, in the first, in the second) of each key of fabric, task and algorithm
        in which they differ.
    measures
        (what, in the first, in the second) of times, counts and sizes.
    like_steps
        Steps in which both move the same, counted from the first one up to the first
        that differs.
    like_segments
        Segments with the same circuits, counted alike.
    """

    settings: tuple[tuple[str, object, object], ...]
    measures: tuple[tuple[str, int, int], ...]
    like_steps: int
    like_segments: int

    @property
    def same(self) -> bool:
        """Whether they differ in nothing that is compared."""
        return not self.settings and all(
            one == other for _, one, other in self.measures
        )


def schedule_difference(one: Schedule, other: Schedule) -> ScheduleDifference:
    """Return what differs between two schedules.

    Parameters
    ----------
    one, other
        Any that can be replayed.

    Raises
    ------
    InputError
        If one of them cannot be replayed.
    """
    first, second = dict(_settings(one)), dict(_settings(other))
    pairs = ((key, first.get(key), second.get(key)) for key in {**first, **second})
    these, those = _measures(one), _measures(other)
    return ScheduleDifference(
        tuple((key, a, b) for key, a, b in pairs if a != b),
        tuple((key, these[key], those[key]) for key in these),
        _alike(_step_keys(one), _step_keys(other)),
        _alike(_segment_keys(one), _segment_keys(other)),
    )


def _settings(schedule: Schedule) -> Iterator[tuple[str, object]]:
    """Yield keys of fabric, task and algorithm, with their values."""
    for key, value in schedule.fabric.items():
        yield f"fabric.{key}", value
    task = schedule.task
    if isinstance(task, Collective):
        yield "task", task.op
        yield "buffer", format_bytes(task.buffer_bytes)
        yield "ranks", task.rank_count
        yield "root", task.root
    else:
        yield "task", "demand"
        yield "buffer", format_bytes(sum(task.bytes))
        yield "pairs", len(task.src)
    yield "algorithm", schedule.algorithm.name
    for key, given in schedule.algorithm.parameters.items():
        yield f"algorithm.{key}", given


def _measures(schedule: Schedule) -> dict[str, int]:
    """Return times, counts and sizes, times first."""
    timeline = replay(schedule)
    alpha = schedule.fabric.get("alpha_ps", 0)
    shares = time_shares(timeline, alpha if isinstance(alpha, int) else 0)
    return {
        "completion_time_ps": timeline.completion_time_ps,
        **shares.record(),
        "steps": len(timeline.steps),
        "segments": len(schedule.segments),
        "reconfigurations": len(timeline.reconfigurations),
        "circuits": schedule.circuit_count,
        "transfers": schedule.transfer_count,
        "bytes_moved": int(timeline.nodes.sent_bytes.sum()),
    }


def _step_keys(schedule: Schedule) -> Iterator[list[tuple[int, ...]]]:
    """Yield what moves in each step, in bytes of the buffer, whatever the planes."""
    task = schedule.task
    size = task.chunk_bytes if isinstance(task, Collective) else 1
    for _, parts in groupby(schedule.parts, key=lambda part: part.index):
        rows: list[tuple[int, ...]] = []
        for part in parts:
            moved = part.transfers
            columns = [moved.src, moved.dst]
            if isinstance(moved, FluidTransfers):
                columns.append(moved.bytes)
                columns.append(moved.src if moved.origin is None else moved.origin)
                columns.append(moved.dst if moved.final is None else moved.final)
            else:
                columns += [moved.chunk_lo * size, moved.chunk_hi * size, moved.op]
            rows += map(tuple, np.stack(columns, axis=1).tolist())
        yield sorted(rows)


def _segment_keys(schedule: Schedule) -> Iterator[tuple[object, ...]]:
    """Yield the circuits of each segment, in the order of the file."""
    for segment in schedule.segments:
        circuits = segment.circuits
        ends = zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
        yield (segment.plane, *sorted(ends))


def _alike(one: Iterable[object], other: Iterable[object]) -> int:
    """Return how many items both begin with alike."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def difference_table(difference: ScheduleDifference, names: tuple[str, str]) -> Table:
    """Return a difference as a table: what differs first, then the measures.

    Parameters
    ----------
    difference
        Of two schedules.
    names
        Of their files.
    """
    rows: list[tuple[str, str, str, str]] = [
        (key, _shown(key, a), _shown(key, b), "") for key, a, b in difference.settings
    ]
    for key, a, b in difference.measures:
        name = _NAMES.get(key, key)
        if key in _TIMES:
            texts = (format_ps(a), format_ps(b))
        elif key == "bytes_moved":
            texts = (format_bytes(a), format_bytes(b))
        else:
            texts = (f"{a:,}", f"{b:,}")
        rows.append((name, *texts, _change(a, b)))
    columns = (Column(""), *(Column(name, number=True) for name in (*names, "change")))
    return terminal_table(columns, rows)


def _shown(key: str, value: object) -> str:
    """Return a setting for people, by the unit in its name."""
    if type(value) is not int:
        return "-" if value is None else str(value)
    if key.endswith("_ps"):
        return format_ps(value)
    if key.endswith("bytes"):
        return format_bytes(value)
    return f"{value / 10**9:,g} Gb/s" if "bits_per_second" in key else str(value)


def _change(one: int, other: int) -> str:
    """Return by how much the second is more or less than the first."""
    if one == other:
        return "="
    return f"{100 * (other - one) / one:+.1f} %" if one else f"{other - one:+,}"
