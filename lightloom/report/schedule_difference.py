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
from lightloom.replay.time_shares import PARTS, percentages, time_shares
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from lightloom.core.schedule import Schedule

_NODE_PS = "_node_ps"
"""Ends the names of times summed over all nodes."""
_NAMES = {
    "completion_time_ps": "completion time",
    **{f"{part}{_NODE_PS}": f"  {part}" for part in PARTS},
    "bytes_moved": "data moved",
}


@dataclass(frozen=True)
class ScheduleDifference:
    """Two schedules side by side.

    `settings` has (what, in the first, in the second) of each key of fabric, task and
    algorithm in which they differ, `measures` the same of times, counts and sizes.
    Times that end in ``_node_ps`` are sums over all nodes, by what these do, as
    `lightloom.replay.time_shares` defines it. `like_steps` counts steps in which both
    move the same, up to the first that differs, `like_segments` those with the same
    circuits.
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

    Raises `InputError` if one of them cannot be replayed.
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
    total_ps = time_shares(schedule, timeline).total_ps()
    return {
        "completion_time_ps": timeline.completion_time_ps,
        **{f"{part}{_NODE_PS}": time_ps for part, time_ps in total_ps.items()},
        "nodes": len(timeline.nodes.busy_ps),
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

    Sums over all nodes are told of a node on average, and in percent of its time.
    """
    rows: list[tuple[str, ...]] = [
        (key, _shown(key, a), _shown(key, b), "") for key, a, b in difference.settings
    ]
    measures = {key: (a, b) for key, a, b in difference.measures}
    nodes = measures["nodes"]
    percent = [
        dict(zip(PARTS, percentages(parts), strict=True))
        for parts in zip(*(measures[part + _NODE_PS] for part in PARTS), strict=True)
    ]
    for key, both in measures.items():
        part = key.removesuffix(_NODE_PS)
        if part in PARTS:
            texts = [
                f"{format_ps(total // count)}, {share[part]:2} %"
                for total, count, share in zip(both, nodes, percent, strict=True)
            ]
            change = _change(both[0] * nodes[1], both[1] * nodes[0])
        else:
            texts = [_shown(key, number) for number in both]
            change = _change(*both)
        rows.append((_NAMES.get(key, key), *texts, change))
    columns = (Column(""), *(Column(name, number=True) for name in (*names, "change")))
    return terminal_table(columns, rows)


def _shown(key: str, value: object) -> str:
    """Return a setting for people, by the unit in its name."""
    if type(value) is not int:
        return "-" if value is None else str(value)
    if key.endswith("_ps"):
        return format_ps(value)
    if key.startswith("bytes") or key.endswith("bytes"):
        return format_bytes(value)
    return f"{value / 10**9:,g} Gb/s" if "bits_per_second" in key else f"{value:,}"


def _change(one: int, other: int) -> str:
    """Return by how much the second is more or less than the first."""
    if one == other:
        return "="
    return f"{100 * (other - one) / one:+.1f} %" if one else f"{other - one:+,}"
