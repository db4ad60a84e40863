"""Transfers: each by itself, and on a circuit that is truly there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import distinct, exact_sums
from lightloom.core.schedule import FluidTransfers, Op, Transfers, transfer_columns
from lightloom.core.task import Collective
from lightloom.core.units import MOST_BYTES
from lightloom.core.violation import Violation
from lightloom.instances.collectives import op_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, StepPart
    from lightloom.core.task import Task


MOST_TOTAL_BYTES = 2**63 - 1
"""Most bytes of all transfers of a schedule together."""


def check(
    node_count: int, schedule: Schedule, *, task_is_sound: bool
) -> Iterator[Violation]:
    """Yield every malformed transfer.

    Rules ``transfer-kind``, ``transfer-columns``, ``node-range``,
    ``self-transfer``, ``rank-membership``, ``chunk-range``, ``bytes-range``. Where
    the task makes no sense, only what does not depend on it is checked.
    """
    task = schedule.task if task_is_sound else None
    member = chunk_total = None
    if isinstance(task, Collective):
        member = np.zeros(node_count, dtype=np.bool_)
        member[list(task.nodes)] = True
        chunk_total = op_of(task).chunk_total(task)
    for part in schedule.parts:
        yield from _shape(part, schedule.task)
        if unreadable(part):
            continue
        outside = yield from _ends(part, node_count)
        transfers = part.transfers
        if member is not None:
            inside = np.flatnonzero(~outside)
            ends = (transfers.src[inside], transfers.dst[inside])
            stranger = ~(member[ends[0]] & member[ends[1]])
            for row in inside[stranger].tolist():
                message = "only nodes of the collective take part"
                yield _violation("rank-membership", part, row, message)
        if isinstance(transfers, FluidTransfers):
            size = transfers.bytes
            for row in np.flatnonzero((size < 1) | (size > MOST_BYTES)).tolist():
                message = f"{size[row]} bytes, allowed 1 to 2**60 - 1"
                yield _violation("bytes-range", part, row, message)
        else:
            yield from _chunks(part, transfers, chunk_total)


def check_total(schedule: Schedule) -> Iterator[Violation]:
    """Yield more bytes than all transfers together may move: rule ``bytes-range``."""
    total = 0
    for part in schedule.parts:
        moved, unit_bytes = part.transfers, 1
        if isinstance(moved, FluidTransfers):
            size = moved.bytes
        else:
            assert isinstance(schedule.task, Collective)
            size, unit_bytes = (
                moved.chunk_hi - moved.chunk_lo,
                schedule.task.chunk_bytes,
            )
        place = np.zeros(len(size), dtype=np.int64)
        total += exact_sums(place, size, 1)[0] * unit_bytes
    if total > MOST_TOTAL_BYTES:
        message = f"all transfers together move {total} bytes, allowed to 2**63 - 1"
        excess = total - MOST_TOTAL_BYTES
        yield Violation("bytes-range", None, "schedule", message, excess)


def unreadable(part: StepPart) -> bool:
    """Return whether the columns of a step differ in length."""
    columns = transfer_columns(part.transfers).values()
    return len({len(column) for column in columns}) != 1


def _shape(part: StepPart, task: Task) -> Iterator[Violation]:
    step, moved = part.index, part.transfers
    if isinstance(task, Collective) != isinstance(moved, Transfers):
        kinds = (
            ("bytes", "chunks") if isinstance(task, Collective) else ("chunks", "bytes")
        )
        message = f"the step moves {kinds[0]}, its task moves {kinds[1]}"
        yield Violation("transfer-kind", step, f"step {step}", message)
    if unreadable(part):
        lengths = [len(column) for column in transfer_columns(moved).values()]
        message = f"the columns have lengths {lengths}"
        yield Violation("transfer-columns", step, f"step {step}", message)
    elif isinstance(moved, FluidTransfers):
        if (moved.origin is None) != (moved.final is None):
            message = "the columns origin and final come together"
            yield Violation("transfer-columns", step, f"step {step}", message)
    elif isinstance(moved, Transfers):
        unknown = (moved.op != Op.COPY) & (moved.op != Op.REDUCE)
        for row in np.flatnonzero(unknown).tolist():
            message = f"operation {moved.op[row]} is neither copy nor reduce"
            yield _violation("transfer-columns", part, row, message)


def _ends(
    part: StepPart, node_count: int
) -> Generator[Violation, None, npt.NDArray[np.bool_]]:
    """Yield transfers with bad ends; return which rows leave the fabric."""
    src, dst = part.transfers.src, part.transfers.dst
    columns = transfer_columns(part.transfers)
    outside: npt.NDArray[np.bool_] = np.zeros(len(src), dtype=np.bool_)
    for name in {"src", "dst", "origin", "final"} & columns.keys():
        outside |= (columns[name] < 0) | (columns[name] >= node_count)
    for row in np.flatnonzero(outside).tolist():
        message = f"nodes are 0 to {node_count - 1}"
        yield _violation("node-range", part, row, message)
    for row in np.flatnonzero(~outside & (src == dst)).tolist():
        message = "a node transfers to itself"
        yield _violation("self-transfer", part, row, message)
    return outside


def _chunks(
    part: StepPart, moved: Transfers, chunk_total: int | None
) -> Iterator[Violation]:
    lo, hi = moved.chunk_lo, moved.chunk_hi
    for row in np.flatnonzero(lo >= hi).tolist():
        message = f"the chunk range {lo[row]}:{hi[row]} is empty"
        yield _violation("chunk-range", part, row, message)
    if chunk_total is None:
        return
    wrong = (lo < hi) & ((lo < 0) | (hi > chunk_total))
    for row in np.flatnonzero(wrong).tolist():
        message = f"chunks {lo[row]}:{hi[row]}, there are 0:{chunk_total}"
        yield _violation("chunk-range", part, row, message)


def _violation(rule: str, part: StepPart, row: int, message: str) -> Violation:
    src, dst = part.transfers.src[row], part.transfers.dst[row]
    where = f"row {row}, transfer {src} -> {dst}"
    return Violation(rule, part.index, where, message)


def check_held(node_count: int, schedule: Schedule) -> Iterator[Violation]:
    """Yield transfers between nodes that their segment does not connect.

    Rule ``circuit-held``. Steps that name no segment there is, and transfers that
    leave the fabric, are other rules' business. A circuit that is malformed still
    counts as there, under its declared source and destination.
    """
    held: dict[tuple[int | None, int | None], IntArray] = {}
    for segment in schedule.segments:
        circuits = segment.circuits
        if len(circuits.src) == len(circuits.dst):
            pairs = distinct(circuits.src * node_count + circuits.dst)
            held.setdefault((segment.plane, segment.index), pairs)
    for part in schedule.parts:
        there = held.get((part.plane, part.segment))
        if there is None or unreadable(part):
            continue
        src, dst = part.transfers.src, part.transfers.dst
        inside = (src >= 0) & (src < node_count) & (dst >= 0) & (dst < node_count)
        lost = inside & (src != dst) & ~_among(src * node_count + dst, there)
        for row in np.flatnonzero(lost).tolist():
            where = f"circuit {src[row]} -> {dst[row]}"
            message = (
                f"row {row} moves data on a circuit that segment {part.segment} of"
                f" plane {part.plane} does not hold"
            )
            yield Violation("circuit-held", part.index, where, message)


def _among(pairs: IntArray, held: IntArray) -> npt.NDArray[np.bool_]:
    """Return which pairs are among those held, sorted and distinct."""
    if not len(held):
        return np.zeros(len(pairs), dtype=np.bool_)
    place = np.minimum(np.searchsorted(held, pairs), len(held) - 1)
    held_there: npt.NDArray[np.bool_] = held[place] == pairs
    return held_there
