"""Any rounds of transfers on the circuits of RAMP.

A round of a collective is one step. Its pairs get a transceiver each, in as few
segments as are found; then the slowest pair of a segment gets one more, as long as one
is free at both ends and in the subnet. A round of a demand, whose bytes may be divided,
is cut into slots of equal size, of which a pair has as many as its bytes fill.

Slots for pairs of nodes: a transceiver in one of some segments, free of contention.

A pair takes its transceiver at its source, at its destination and in its subnet, so it
lies on three *lines*, each of which has every slot once. That is an edge colouring of
triples; where a subnet has pairs of one source or one destination alone it is one of
pairs, and as many slots suffice as the fullest line needs.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import distinct
from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers, Segment, StepPart, transfer_columns
from lightloom.core.units import transmission_ps
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.realisation import Realisation, take_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Transfers
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.traffic import TrafficRound


_MOST_BYTES = 2**62
"""Bytes of a round; sums of two still fit 63 bits."""
_MOST_SEGMENT_COUNTS = 48
"""Numbers of segments that are compared, one after another at first, then an eighth
apart: so many reach from 1 to 1,663."""
_HALVINGS = 24
"""Halvings of the size of a slot, to 6 parts in 10**8 of the largest message."""
_LARGER = 50
"""Slots grow by a fiftieth until all are found."""


@dataclass(frozen=True, eq=False)
class _Lit:
    """A segment and what moves in it."""

    circuits: Circuits
    transfers: Transfers | FluidTransfers


def realise_ramp(fabric: Ramp, rounds: Sequence[TrafficRound]) -> Realisation:
    """Return segments and steps that carry rounds, one step for each round.

    Deterministic. Rounds with the same circuits, one after another, share a segment.
    """
    segments: list[Segment] = []
    parts: list[StepPart] = []
    for step, one in enumerate(rounds):
        lit = _fluid if isinstance(one.transfers, FluidTransfers) else _whole
        for segment in lit(fabric, one):
            if not segments or not _same(segments[-1].circuits, segment.circuits):
                segments.append(Segment(0, len(segments), segment.circuits))
            index, moved = segments[-1].index, segment.transfers
            if parts and (parts[-1].index, parts[-1].segment) == (step, index):
                moved = _joined(parts.pop().transfers, moved)
            parts.append(StepPart(step, 0, index, moved))
    return Realisation(tuple(segments), tuple(parts))


def least_round_ps(fabric: Ramp, one: TrafficRound) -> int:
    """Return the least time that `realise_ramp` needs for a round.

    Every line carries its bytes on all transceivers, and its pairs in portions of so
    many as there are transceivers.
    """
    if not len(one.size_bytes):
        return 0
    _, src, dst, size_bytes = _pairs(fabric, one)
    lines = lines_of(fabric, src, dst)
    most_pairs = int(line_sums(lines, np.ones_like(src)).max())
    most_bytes = int(line_sums(lines, size_bytes).max())
    portions = -(-most_pairs // fabric.groups)
    data_ps = transmission_ps(most_bytes, fabric.node_bits_per_s)
    return portions * fabric.alpha_ps + data_ps


def _pairs(
    fabric: Ramp, one: TrafficRound
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return the pair of each row, and source, destination and bytes of each pair."""
    key = one.transfers.src * fabric.node_count + one.transfers.dst
    keys = distinct(key)
    pair = np.searchsorted(keys, key)
    size_bytes = np.zeros(len(keys), dtype=np.int64)
    np.add.at(size_bytes, pair, one.size_bytes)
    if size_bytes.sum(dtype=np.float64) >= _MOST_BYTES:
        raise InputError(
            "too many bytes in one round",
            where="schedule",
            allowed="less than 2**62 over all pairs of nodes",
        )
    return pair, keys // fabric.node_count, keys % fabric.node_count, size_bytes


def _joined(
    first: Transfers | FluidTransfers, then: Transfers | FluidTransfers
) -> Transfers | FluidTransfers:
    """Return the rows of two parts as one."""
    more = transfer_columns(then)
    columns: dict[str, IntArray] = {
        name: np.concatenate([column, more[name]])
        for name, column in transfer_columns(first).items()
    }
    return type(first)(**columns)


def _same(left: Circuits, right: Circuits) -> bool:
    return len(left) == len(right) and all(
        np.array_equal(a, b)
        for a, b in (
            (left.src, right.src),
            (left.dst, right.dst),
            (left.column("transceiver"), right.column("transceiver")),
        )
    )


def _whole(fabric: Ramp, one: TrafficRound) -> Iterator[_Lit]:
    """Yield the segments of a round whose rows are not divided."""
    if not len(one.size_bytes):
        return
    pair, src, dst, size_bytes = _pairs(fabric, one)
    lines = lines_of(fabric, src, dst)
    once = np.ones(len(src), dtype=np.int64)
    most = int(line_sums(lines, once).max())
    found = None
    while found is None:
        most = -(-most // fabric.groups) * fabric.groups
        found = slots_for(lines, once, most, shift_order(fabric, src, dst))
        most += 1
    segment, transceiver = np.divmod(found, fabric.groups)
    for index in range(int(segment.max()) + 1):
        inside = np.flatnonzero(segment == index)
        if not len(inside):
            continue
        owner, used = _filled(
            lines[:, inside], transceiver[inside], size_bytes[inside], fabric.groups
        )
        circuits = Circuits(src[inside][owner], dst[inside][owner], transceiver=used)
        rows = np.flatnonzero(segment[pair] == index)
        yield _Lit(circuits, take_rows(one.transfers, rows))


def _filled(
    lines: IntArray, transceiver: IntArray, size_bytes: IntArray, transceivers: int
) -> tuple[IntArray, IntArray]:
    """Return pairs and transceivers of a segment, the slowest pair given more.

    `lines`: lines of its pairs, shape (3, pairs). `transceiver`, `size_bytes`: the
    first transceiver of each, and what it moves, shape (pairs,).
    """
    free = np.full(int(lines.max()) + 1, (1 << transceivers) - 1).astype(object)
    for line in lines:
        for place, used in zip(line.tolist(), transceiver.tolist(), strict=True):
            free[place] &= ~(1 << used)
    owners, taken = list(range(len(transceiver))), transceiver.tolist()
    counts = [1] * len(taken)
    sizes = size_bytes.tolist()
    queue = [(-size, pair) for pair, size in enumerate(sizes)]
    heapq.heapify(queue)
    while queue:
        _, pair = heapq.heappop(queue)
        a, b, c = lines[:, pair].tolist()
        slots = free[a] & free[b] & free[c]
        if not slots:
            break  # nothing makes the slowest pair faster
        slot = slots & -slots
        for place in (a, b, c):
            free[place] ^= slot
        owners.append(pair)
        taken.append(slot.bit_length() - 1)
        counts[pair] += 1
        heapq.heappush(queue, (-(sizes[pair] / counts[pair]), pair))
    owner, used = np.array(owners, dtype=np.int64), np.array(taken, dtype=np.int64)
    order = np.lexsort((used, owner))
    return owner[order], used[order]


def _fluid(fabric: Ramp, one: TrafficRound) -> Iterator[_Lit]:
    """Yield the segments of a round of a demand, in slots of equal size."""
    if not len(one.size_bytes):
        return
    _, src, dst, size_bytes = _pairs(fabric, one)
    lines = lines_of(fabric, src, dst)
    segments, slot_bytes = _best_slots(fabric, lines, size_bytes)
    found = None
    while found is None:
        counts = -(-size_bytes // slot_bytes)
        rank = shift_order(fabric, src, dst)
        found = slots_for(lines, counts, segments * fabric.groups, rank)
        if found is None:
            slot_bytes += slot_bytes // _LARGER + 1
            if int(counts.max()) == 1:
                segments += 1
    pair = np.repeat(np.arange(len(src), dtype=np.int64), counts)
    segment, transceiver = np.divmod(found, fabric.groups)
    order = np.lexsort((transceiver, pair, segment))
    pair, segment, transceiver = pair[order], segment[order], transceiver[order]
    sent = np.zeros(len(src), dtype=np.int64)
    for index in distinct(segment).tolist():
        rows = np.flatnonzero(segment == index)
        owner = pair[rows]
        lit = distinct(owner)
        before = sent[lit].copy()
        np.add.at(sent, owner, 1)
        # Even shares of what a pair has: none is more than its slots hold.
        moved = _share(size_bytes[lit], counts[lit], sent[lit])
        moved -= _share(size_bytes[lit], counts[lit], before)
        some = moved > 0
        circuits = Circuits(src[owner], dst[owner], transceiver=transceiver[rows])
        kept = lit[some]
        yield _Lit(circuits, FluidTransfers(src[kept], dst[kept], moved[some]))


def _share(size_bytes: IntArray, of: IntArray, slots: IntArray) -> IntArray:
    """Return the bytes that so many of all slots hold; exact without large products."""
    each, more = np.divmod(size_bytes, of)
    share: IntArray = each * slots + np.minimum(more, slots)
    return share


def _best_slots(fabric: Ramp, lines: IntArray, size_bytes: IntArray) -> tuple[int, int]:
    """Return the number of segments and the size of slots that end soonest.

    For m segments the slots are the least for which no line needs more than m times
    the transceivers. The lines alone are counted; slots may not be found for them.
    """
    rate = fabric.transceiver_bits_per_s
    fixed_ps = fabric.alpha_ps + fabric.reconfiguration_ps
    fullest = int(line_sums(lines, np.ones_like(size_bytes)).max())
    data_ps = transmission_ps(
        int(line_sums(lines, size_bytes).max()), fabric.node_bits_per_s
    )
    segments = -(-fullest // fabric.groups)
    best: tuple[int, int, int] | None = None
    for _ in range(_MOST_SEGMENT_COUNTS):
        if best is not None and segments * fixed_ps + data_ps >= best[0]:
            break
        slot_bytes = _least_slot(lines, size_bytes, segments * fabric.groups)
        time_ps = segments * (fixed_ps + transmission_ps(slot_bytes, rate))
        if best is None or time_ps < best[0]:
            best = (time_ps, segments, slot_bytes)
        segments += 1 + segments // 8
    assert best is not None
    return best[1], best[2]


def _least_slot(lines: IntArray, size_bytes: IntArray, slots: int) -> int:
    """Return the least size of slots, about, for which there are enough on all lines.

    `lines`, `size_bytes`: lines of pairs, shape (3, pairs), and their bytes, shape
    (pairs,).
    """
    high = int(size_bytes.max())
    low = max(0, int(line_sums(lines, size_bytes).max()) // slots - 1)
    for _ in range(_HALVINGS):
        middle = (low + high) // 2
        if middle == low:
            break
        if int(line_sums(lines, -(-size_bytes // middle)).max()) <= slots:
            high = middle
        else:
            low = middle
    return high


def lines_of(fabric: Ramp, src: IntArray, dst: IntArray) -> IntArray:
    """Return the three lines of pairs, numbered from 0 without gaps.

    Returns lines of subnets, of sources, and of destinations, shape (3, pairs).
    """
    one = np.zeros(len(src), dtype=np.int64)
    taken = fabric.usage(Circuits(src, dst, transceiver=one)).resource
    _, line = np.unique(taken, return_inverse=True)
    return line.reshape(3, len(src)).astype(np.int64)


def line_sums(lines: IntArray, weights: IntArray) -> IntArray:
    """Return the sum of the weights of the pairs on each line.

    `lines`: shape (3, pairs).
    """
    sums = np.zeros(int(lines.max(initial=-1)) + 1, dtype=np.int64)
    for line in lines:
        np.add.at(sums, line, weights)
    return sums


def shift_order(fabric: Ramp, src: IntArray, dst: IntArray) -> IntArray:
    """Return the rank of pairs in the order of shifts, those of one shift together."""
    here, there = fabric.coordinates(src), fabric.coordinates(dst)
    sizes = (fabric.groups, fabric.racks, fabric.nodes_per_rack)
    group, rack, number = (
        (b - a) % size for a, b, size in zip(here, there, sizes, strict=True)
    )
    rank = np.empty(len(src), dtype=np.int64)
    rank[np.lexsort((src, group, number, rack))] = np.arange(len(src))
    return rank


def slots_for(
    lines: IntArray, counts: IntArray, most: int, rank: IntArray
) -> IntArray | None:
    """Return a slot for each unit of pairs, pair after pair.

    `lines`: lines of pairs, shape (3, pairs). `counts`: units of each pair, 1 or more,
    shape (pairs,). `rank`: of pairs in an order to try where the first one does not do,
    shape (pairs,).

    Returns slots from 0 to ``most - 1``, shape (units,), such that no line has one
    twice; ``None`` where none are found.

    Deterministic. Exact where lines of subnets bind nothing; else greedy: pairs on
    full lines first, then as ranked, each the first slot that is free.
    """
    full = line_sums(lines, counts)
    if full.max(initial=0) > most:
        return None
    pair = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    subnet, src, dst = lines
    if _follows(subnet, src) or _follows(subnet, dst):
        return edge_colours(src[pair], dst[pair], fewest=most)
    for first in (-full[lines].sum(axis=0), rank):
        order = np.argsort(first[pair], kind="stable")
        found = _first_free(lines[:, pair], order, most)
        if found is not None:
            return found
    return None


def _first_free(lines: IntArray, order: IntArray, most: int) -> IntArray | None:
    """Return the first slot that is free for each unit in turn, if there is one.

    `lines`: of units, shape (3, units). `order`: units in the order in which they
    choose.
    """
    units = lines[:, order].T.tolist()
    free = [(1 << most) - 1] * (int(lines.max()) + 1)
    found = np.zeros(len(order), dtype=np.int64)
    for unit, (a, b, c) in zip(order.tolist(), units, strict=True):
        open_slots = free[a] & free[b] & free[c]
        if not open_slots:
            return None
        slot = open_slots & -open_slots
        free[a] ^= slot
        free[b] ^= slot
        free[c] ^= slot
        found[unit] = slot.bit_length() - 1
    return found


def _follows(subnet: IntArray, end: IntArray) -> bool:
    """Tell whether the pairs of each subnet have one end in common."""
    first = np.zeros(int(subnet.max(initial=-1)) + 1, dtype=np.int64)
    first[subnet] = end
    return bool((first[subnet] == end).all())
