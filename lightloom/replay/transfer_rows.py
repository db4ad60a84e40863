"""All transfers of a schedule as columns, grouped by pair, segment and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Collective

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, StepPart

INT64_MAX = 2**63 - 1
NO_PLANE = -1

Block = tuple[int, int, int]
"""(step, plane, segment); plane and segment are -1 on packet fabrics."""


@dataclass(frozen=True, eq=False)
class TransferRows:
    """Transfers of all parts laid end to end, and the pairs they belong to.

    Attributes
    ----------
    blocks
        Distinct (step, plane, segment), sorted.
    part_rows
        Number of transfers of each part.
    bytes
        Size of each transfer, in file order.
    order
        Transfers sorted by (block, src, dst), file order within.
    first
        Where each pair starts in `order`, shape (pairs,).
    count
        Number of transfers of each pair.
    pair_block, pair_src, pair_dst, pair_bytes, pair_chunks
        What each pair is and carries, shape (pairs,).
    """

    blocks: tuple[Block, ...]
    part_rows: IntArray
    bytes: IntArray
    order: IntArray
    first: IntArray
    count: IntArray
    pair_block: IntArray
    pair_src: IntArray
    pair_dst: IntArray
    pair_bytes: IntArray
    pair_chunks: IntArray


def transfer_rows(schedule: Schedule, node_count: int) -> TransferRows:
    """Return the transfers of a schedule, grouped.

    Takes O(T log T) for T transfers.

    Raises
    ------
    InputError
        Step indices that skip or go back, a node outside the fabric, an impossible
        chunk range, more bytes than 63 bits can count.
    """
    _check_steps(schedule.parts)
    part_block = [_block(part) for part in schedule.parts]
    blocks = tuple(sorted(set(part_block)))
    number = {block: row for row, block in enumerate(blocks)}
    part_rows = np.array([len(part.transfers) for part in schedule.parts], np.int64)
    block = np.repeat(
        np.array([number[block] for block in part_block], np.int64), part_rows
    )
    src = _joined([part.transfers.src for part in schedule.parts])
    dst = _joined([part.transfers.dst for part in schedule.parts])
    _check_nodes(src, dst, block, blocks, node_count)
    chunks = _joined([_chunks(part) for part in schedule.parts])
    sizes = _sizes(schedule, chunks, part_rows)
    if len(blocks) * node_count**2 > INT64_MAX:
        what = "the schedule is too large to replay"
        found = f"{len(blocks)} step parts on {node_count} nodes"
        raise InputError(what, where="schedule", found=found)
    key = (block * node_count + src) * node_count + dst
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    lead = order[first]
    return TransferRows(
        blocks=blocks,
        part_rows=part_rows,
        bytes=sizes,
        order=order,
        first=first,
        count=np.diff(first, append=len(order)),
        pair_block=block[lead],
        pair_src=src[lead],
        pair_dst=dst[lead],
        pair_bytes=group_sums(sizes[order], first),
        pair_chunks=group_sums(chunks[order], first),
    )


def group_sums(values: IntArray, first: IntArray) -> IntArray:
    """Return the sum of each run of `values`; runs start at `first`."""
    return np.add.reduceat(values, first) if len(first) else first


def _block(part: StepPart) -> Block:
    """Return the (step, plane, segment) of a part."""
    plane = NO_PLANE if part.plane is None else part.plane
    segment = NO_PLANE if part.segment is None else part.segment
    return (part.index, plane, segment)


def _joined(columns: list[IntArray]) -> IntArray:
    """Return columns laid end to end."""
    return np.concatenate([np.empty(0, np.int64), *columns])


def _chunks(part: StepPart) -> IntArray:
    """Return how many chunks each transfer of a part carries."""
    transfers = part.transfers
    if isinstance(transfers, FluidTransfers):
        return np.zeros(len(transfers), np.int64)
    wrong = (transfers.chunk_lo < 0) | (transfers.chunk_hi < transfers.chunk_lo)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        found = f"{transfers.chunk_lo[row]}..{transfers.chunk_hi[row]}"
        where = f"step {part.index}, transfer {row}"
        raise InputError("impossible chunk range", where=where, found=found)
    return transfers.chunk_hi - transfers.chunk_lo


def _sizes(schedule: Schedule, chunks: IntArray, part_rows: IntArray) -> IntArray:
    """Return the bytes of each transfer, or raise if their sum passes 63 bits."""
    fluid = [isinstance(part.transfers, FluidTransfers) for part in schedule.parts]
    if isinstance(schedule.task, Collective):
        chunk_bytes = schedule.task.chunk_bytes
    elif all(fluid):
        chunk_bytes = 0
    else:
        where = f"step {schedule.parts[fluid.index(False)].index}"
        what = "chunk transfers belong to a collective, and the task is a demand"
        raise InputError(what, where=where)
    if int(chunks.max(initial=0)) * chunk_bytes > INT64_MAX:
        raise too_many_bytes()
    sizes = chunks * chunk_bytes
    ends = np.cumsum(part_rows)
    for part, end, rows in zip(schedule.parts, ends, part_rows, strict=True):
        if isinstance(part.transfers, FluidTransfers):
            sizes[end - rows : end] = part.transfers.bytes
    if (sizes < 0).any():
        what, allowed = "a transfer of negative size", "0 bytes or more"
        raise InputError(what, where="schedule", allowed=allowed)
    if column_total(sizes) > INT64_MAX:
        raise too_many_bytes()
    return sizes


def column_total(values: IntArray) -> int:
    """Return the sum of a column of non-negative values, whatever its size."""
    high, low = values >> 32, values & (2**32 - 1)
    return (int(high.sum()) << 32) + int(low.sum())


def too_many_bytes() -> InputError:
    """Return the error for sums of bytes that do not fit 63 bits."""
    what = "the transfers move more than 2**63 - 1 bytes"
    return InputError(what, where="schedule")


def _check_steps(parts: tuple[StepPart, ...]) -> None:
    """Raise unless step indices count 0, 0, 1, 1, 1, 2, ... in file order."""
    expected = 0
    for part in parts:
        if part.index not in (expected, max(expected - 1, 0)):
            allowed = str(expected)
            what = "step out of order"
            raise InputError(what, where="steps", found=part.index, allowed=allowed)
        expected = part.index + 1


def _check_nodes(
    src: IntArray,
    dst: IntArray,
    block: IntArray,
    blocks: tuple[Block, ...],
    node_count: int,
) -> None:
    """Raise if a transfer names a node outside the fabric."""
    for name, nodes in (("src", src), ("dst", dst)):
        outside = np.flatnonzero((nodes < 0) | (nodes >= node_count))
        if len(outside):
            row = outside[0]
            raise InputError(
                "node outside the fabric",
                where=f"step {blocks[block[row]][0]}, {name}",
                found=int(nodes[row]),
                allowed=f"0 to {node_count - 1}",
            )
