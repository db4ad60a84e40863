"""Iterations of several trainings as one, each repeated, for a replay of all."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.iteration import (
    NO_CALL,
    Collectives,
    Dependencies,
    Iteration,
    Operations,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.replay.workload import IterationTimeline


def joint_iteration(
    iterations: Sequence[Iteration], repeats: Sequence[int]
) -> tuple[Iteration, tuple[IntArray, ...]]:
    """Return several iterations side by side, each repeated one after the other.

    A repeat begins when all of the one before it has ended.

    `repeats`: how often each is done, 1 or more.

    Returns the iteration, and for each of them the operations, of no time, that end its
    repeats, in order.
    """
    parts = [
        one
        for one, times in zip(iterations, repeats, strict=True)
        for _ in range(times)
    ]
    count = sum(len(one.operations) for one in parts)
    last = np.cumsum(np.array(repeats)) + count
    ends = tuple(
        np.arange(mark - times, mark)
        for mark, times in zip(last.tolist(), repeats, strict=True)
    )
    src, dst, size = np.concatenate(list(_links(parts, ends, count)), axis=1)
    call = np.full(len(src), NO_CALL, dtype=np.int64)
    devices = max(one.device_count for one in iterations)
    links = Dependencies(src, dst, size, call)
    return Iteration(devices, _operations(parts), links, _collectives(parts)), ends


def _links(
    parts: Sequence[Iteration], ends: Sequence[IntArray], count: int
) -> Iterator[IntArray]:
    """Yield src, dst and bytes of dependencies, in columns.

    `ends`: marks of the repeats of each training, which follow `count` operations.
    """
    at, behind = 0, count + len(parts)
    marks = [(mark, place) for group in ends for place, mark in enumerate(group)]
    for one, (mark, repeat) in zip(parts, marks, strict=True):
        operations = np.arange(at, at + len(one.operations))
        collectives = np.arange(behind, behind + len(one.collectives))
        at, behind = at + len(operations), behind + len(collectives)
        place = np.concatenate([operations, collectives])
        rows, tasks = one.dependencies, np.arange(one.task_count)
        yield np.stack([place[rows.src], place[rows.dst], rows.bytes])
        last = place[~np.isin(tasks, rows.src)]
        yield _order(last, np.full(len(last), mark))
        if repeat:
            first = place[~np.isin(tasks, rows.dst)]
            yield _order(np.full(len(first), mark - 1), first)


def _operations(parts: Sequence[Iteration]) -> Operations:
    """Return the operations of all repeats, and a mark of no time for each end."""
    each = [one.operations for one in parts]
    none = np.zeros(len(parts), dtype=np.int64)
    return Operations(
        (
            *(name for one in each for name in one.name),
            *("end of an iteration" for _ in parts),
        ),
        np.concatenate([*(one.device for one in each), none]),
        np.concatenate([*(one.duration_ps for one in each), none]),
        np.concatenate([*(one.priority for one in each), none]),
    )


def _collectives(parts: Sequence[Iteration]) -> Collectives:
    """Return the collectives of all repeats."""
    each = [one.collectives for one in parts]
    return Collectives(
        tuple(op for one in each for op in one.op),
        np.concatenate([one.bytes for one in each]),
        Ragged.from_lengths(
            np.concatenate([one.devices.lengths for one in each]),
            np.concatenate([one.devices.values for one in each]),
        ),
    )


def mean_iterations_ps(
    timeline: IterationTimeline, ends: Sequence[IntArray]
) -> tuple[Fraction, ...]:
    """Return how long an iteration of each training takes while all of them run.

    The mean over the repeats that have ended when the first training has done all of
    its own, or the first repeat where none has.
    """
    times = [timeline.operations.end_ps[marks] for marks in ends]
    until = min(int(each[-1]) for each in times)
    done = [max(1, int(np.searchsorted(each, until, "right"))) for each in times]
    return tuple(
        Fraction(int(each[number - 1]), number)
        for each, number in zip(times, done, strict=True)
    )


def _order(src: IntArray, dst: IntArray) -> IntArray:
    """Return dependencies without bytes."""
    return np.stack([src, dst, np.zeros(len(src), dtype=np.int64)])
