"""Slots for pairs of nodes: a transceiver in one of some segments, free of contention.

A pair takes its transceiver at its source, at its destination and in its subnet, so it
lies on three *lines*, each of which has every slot once. That is an edge colouring of
triples; where a subnet has pairs of one source or one destination alone it is one of
pairs, and as many slots suffice as the fullest line needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.plans.edge_colouring import edge_colours

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ramp import Ramp


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
