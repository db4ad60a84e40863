"""Transfers of a schedule as columns, grouped by pair, segment and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Collective
from lightloom.core.units import INT64_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, StepPart


NO_PLANE = -1
"""Stands for the plane of a transfer on a fabric without circuits."""
BATCH_TRANSFERS = 2**16
"""About how many transfers are timed at once: their columns stay in the cache."""

Block = tuple[int, int, int]
"""(step, plane, segment); plane and segment are -1 on packet fabrics."""


@dataclass(frozen=True, eq=False)
class TransferRows:
    """Transfers of some whole steps laid end to end, and the pairs they belong to.

    `parts`: of the steps, in file order. `blocks`: distinct (step, plane, segment),
    sorted. `part_rows`: number of transfers of each part. `bytes`: size of each
    transfer, in file order. `order`: transfers sorted by (block, src, dst), file order
    within. `in_order`: whether they are so in the file, so that `order` changes
    nothing. `first`: where each pair starts in `order`, shape (pairs,). `count`: number
    of transfers of each pair. `pair_block`, `pair_src`, `pair_dst`, `pair_bytes`,
    `pair_chunks`: what each pair is and carries, shape (pairs,).
    """

    parts: tuple[StepPart, ...]
    blocks: tuple[Block, ...]
    part_rows: IntArray
    bytes: IntArray
    order: IntArray
    in_order: bool
    first: IntArray
    count: IntArray
    pair_block: IntArray
    pair_src: IntArray
    pair_dst: IntArray
    pair_bytes: IntArray
    pair_chunks: IntArray

    @property
    def single(self) -> bool:
        """Whether every pair has one transfer, so that `first` counts them."""
        return len(self.first) == len(self.order)

    def of_transfers(self, of_pairs: IntArray) -> IntArray:
        """Return a column of pairs as one of transfers, sorted by pair."""
        return of_pairs if self.single else np.repeat(of_pairs, self.count)

    @property
    def last(self) -> IntArray:
        """Where each pair ends in `order`: its last transfer."""
        return self.first if self.single else self.first + self.count - 1


def transfer_batches(schedule: Schedule, node_count: int) -> Iterator[TransferRows]:
    """Yield the transfers of a schedule, grouped, some whole steps at a time.

    Takes O(T log T) for T transfers, which are between nodes 0 to `node_count` - 1.

    Raises `InputError`: step indices that skip or go back, a node outside the fabric,
    an impossible chunk range, more bytes than 63 bits can count.
    """
    _check_steps(schedule.parts)
    chunk_bytes = _chunk_bytes(schedule)
    total_bytes = 0
    for parts in _batches(schedule.parts):
        rows = _rows(parts, chunk_bytes, node_count)
        total_bytes += int(rows.pair_bytes.sum())
        if total_bytes > INT64_MAX:
            raise too_many_bytes()
        yield rows


def _batches(parts: Sequence[StepPart]) -> Iterator[tuple[StepPart, ...]]:
    """Yield the parts of whole steps, of about `BATCH_TRANSFERS` or one step."""
    batch: list[StepPart] = []
    transfers = 0
    for part in parts:
        if transfers >= BATCH_TRANSFERS and part.index != batch[-1].index:
            yield tuple(batch)
            batch, transfers = [], 0
        batch.append(part)
        transfers += len(part.transfers)
    if batch:
        yield tuple(batch)


def _rows(
    parts: tuple[StepPart, ...], chunk_bytes: int, node_count: int
) -> TransferRows:
    """Return the transfers of whole steps, grouped."""
    part_block = [_block(part) for part in parts]
    blocks = tuple(sorted(set(part_block)))
    number = {block: row for row, block in enumerate(blocks)}
    part_rows = np.array([len(part.transfers) for part in parts], np.int64)
    numbers = np.array([number[block] for block in part_block], np.int64)
    if len(numbers) == 1:
        block = np.broadcast_to(numbers[0], int(part_rows[0]))
    else:
        block = np.repeat(numbers, part_rows)
    src = _joined([part.transfers.src for part in parts])
    dst = _joined([part.transfers.dst for part in parts])
    _check_nodes(src, dst, block, blocks, node_count)
    chunks = _joined([_chunks(part) for part in parts])
    sizes = _sizes(parts, chunks, part_rows, chunk_bytes)
    if len(blocks) * node_count**2 > INT64_MAX:
        what = "the schedule is too large to replay"
        found = f"{len(blocks)} step parts on {node_count} nodes"
        raise InputError(what, where="schedule", found=found)
    key = block * node_count
    key += src
    key *= node_count
    key += dst
    in_order = is_sorted(key)
    order = stable_order(key)
    if in_order and not (key[1:] == key[:-1]).any():
        one = np.broadcast_to(np.int64(1), len(key))
        pairs = (order, one, block, src, dst, sizes, chunks)
        return TransferRows(parts, blocks, part_rows, sizes, order, in_order, *pairs)
    sorted_sizes, sorted_chunks = sizes, chunks
    if not in_order:
        key, sorted_sizes, sorted_chunks = key[order], sizes[order], chunks[order]
    first = run_starts(key)
    lead = order[first]
    return TransferRows(
        parts=parts,
        blocks=blocks,
        part_rows=part_rows,
        bytes=sizes,
        order=order,
        in_order=in_order,
        first=first,
        count=np.diff(first, append=len(order)),
        pair_block=block[lead],
        pair_src=src[lead],
        pair_dst=dst[lead],
        pair_bytes=group_sums(sorted_sizes, first),
        pair_chunks=group_sums(sorted_chunks, first),
    )


def slices(rows: int) -> Iterator[slice]:
    """Yield slices of some rows that stay in the cache."""
    for begin in range(0, rows, BATCH_TRANSFERS):
        yield slice(begin, min(begin + BATCH_TRANSFERS, rows))


def run_starts(keys: IntArray) -> IntArray:
    """Return where each run of equal keys starts."""
    fresh = np.ones(len(keys), dtype=np.bool_)
    fresh[1:] = keys[1:] != keys[:-1]
    return np.flatnonzero(fresh)


def group_sums(values: IntArray, first: IntArray) -> IntArray:
    """Return the sum of each run of `values`; runs start at `first`.

    `first`: where each run starts, shape (runs,); strictly increasing from 0, so that
    no run is empty.
    """
    if len(first) == len(values):
        return values
    return np.add.reduceat(values, first)


def _block(part: StepPart) -> Block:
    """Return the (step, plane, segment) of a part."""
    plane = NO_PLANE if part.plane is None else part.plane
    segment = NO_PLANE if part.segment is None else part.segment
    return (part.index, plane, segment)


def _joined(columns: list[IntArray]) -> IntArray:
    """Return columns laid end to end."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


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


def _chunk_bytes(schedule: Schedule) -> int:
    """Return the size of a chunk, 0 for a demand, or raise if that has chunks."""
    if isinstance(schedule.task, Collective):
        return schedule.task.chunk_bytes
    for part in schedule.parts:
        if not isinstance(part.transfers, FluidTransfers):
            what = "chunk transfers belong to a collective, and the task is a demand"
            raise InputError(what, where=f"step {part.index}")
    return 0


def _sizes(
    parts: tuple[StepPart, ...],
    chunks: IntArray,
    part_rows: IntArray,
    chunk_bytes: int,
) -> IntArray:
    """Return the bytes of each transfer, or raise if their sum passes 63 bits."""
    if int(chunks.max(initial=0)) * chunk_bytes > INT64_MAX:
        raise too_many_bytes()
    sizes = chunks * chunk_bytes
    ends = np.cumsum(part_rows)
    for part, end, rows in zip(parts, ends, part_rows, strict=True):
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
    if int(values.max(initial=0)) * len(values) <= INT64_MAX:
        return int(values.sum())
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
        if nodes.min(initial=0) >= 0 and nodes.max(initial=0) < node_count:
            continue
        row = np.flatnonzero((nodes < 0) | (nodes >= node_count))[0]
        raise InputError(
            "node outside the fabric",
            where=f"step {blocks[block[row]][0]}, {name}",
            found=int(nodes[row]),
            allowed=f"0 to {node_count - 1}",
        )


_MOST_BITS = 63
"""Bits in which a key and the number of a row are put together."""


def is_sorted(keys: IntArray) -> bool:
    """Return whether no row of a column is less than the row before it."""
    return not (keys[1:] < keys[:-1]).any()


def stable_order(keys: IntArray) -> IntArray:
    """Return the rows of a column of non-negative keys, sorted; ties stay as they are.

    What a stable ``np.argsort`` returns. Keys that are sorted already, as nearly all
    are, are only looked at; others are sorted together with their row numbers as
    integers, many times as fast, where both fit one.
    """
    rows = np.arange(len(keys), dtype=np.int64)
    if is_sorted(keys):
        return rows
    row_bits = len(keys).bit_length()
    if int(keys.max()).bit_length() + row_bits > _MOST_BITS:
        return np.argsort(keys, kind="stable")
    packed = keys << row_bits | rows
    packed.sort()
    packed &= (1 << row_bits) - 1
    return packed
