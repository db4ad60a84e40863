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
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.replay.workload import IterationTimeline

__all__ = ["joint_iteration", "mean_iterations_ps"]


def joint_iteration(
    iterations: Sequence[Iteration], repeats: Sequence[int]
) -> tuple[Iteration, tuple[IntArray, ...]]:
    """Return several iterations side by side, each repeated one after the other.

    A repeat begins when all of the one before it has ended.

    Parameters
    ----------
    iterations
        On the same devices; they may share some.
    repeats
        How often each is done, 1 or more.

    Returns
    -------
    The iteration, and for each of them the operations, of no time, that end its
    repeats, in order.
    """
    parts = [
        one
        for one, times in zip(iterations, repeats, strict=True)
        for _ in range(times)
    ]
    count = sum(len(one.operations) for one in parts)
    total = count + len(parts)
    at, behind, number = 0, total, 0
    links: list[IntArray] = []
    ends: list[IntArray] = []
    for one, times in zip(iterations, repeats, strict=True):
        marks = np.arange(count + number, count + number + times)
        for repeat in range(times):
            place = np.concatenate(
                [
                    np.arange(at, at + len(one.operations)),
                    np.arange(behind, behind + len(one.collectives)),
                ]
            )
            rows = one.dependencies
            src, dst = place[rows.src], place[rows.dst]
            links.append(np.stack([src, dst, rows.bytes]))
            last = place[~np.isin(np.arange(one.task_count), rows.src)]
            links.append(_order(last, np.full(len(last), marks[repeat])))
            if repeat:
                first = place[~np.isin(np.arange(one.task_count), rows.dst)]
                links.append(_order(np.full(len(first), marks[repeat - 1]), first))
            at += len(one.operations)
            behind += len(one.collectives)
        ends.append(marks)
        number += times
    src, dst, size = np.concatenate(links, axis=1)
    none = np.zeros(len(parts), dtype=np.int64)
    operations = Operations(
        tuple(name for one in parts for name in one.operations.name)
        + ("end of an iteration",) * len(parts),
        np.concatenate([*(one.operations.device for one in parts), none]),
        np.concatenate([*(one.operations.duration_ps for one in parts), none]),
        np.concatenate([*(one.operations.priority for one in parts), none]),
    )
    collectives = Collectives(
        tuple(op for one in parts for op in one.collectives.op),
        np.concatenate([one.collectives.bytes for one in parts]),
        Ragged.from_lengths(
            np.concatenate([one.collectives.devices.lengths for one in parts]),
            np.concatenate([one.collectives.devices.values for one in parts]),
        ),
    )
    call = np.full(len(src), NO_CALL, dtype=np.int64)
    devices = max(one.device_count for one in iterations)
    links_of_all = Dependencies(src, dst, size, call)
    return Iteration(devices, operations, links_of_all, collectives), tuple(ends)


def mean_iterations_ps(
    timeline: IterationTimeline, ends: Sequence[IntArray]
) -> tuple[Fraction, ...]:
    """Return how long an iteration of each training takes while all of them run.

    The mean over the repeats that have ended when the first training has done all of
    its own, or the first repeat where none has.

    Parameters
    ----------
    timeline
        The replay of a joint iteration.
    ends
        What `joint_iteration` said ends its repeats.
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
