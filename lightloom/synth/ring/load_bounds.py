"""Bounds for a ring by the loads of spans, of long circuits and of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.circuit_ratios import best_threshold
from lightloom.synth.ring.arcs import crossings
from lightloom.validate.certificates.circuits_per_byte import (
    CrowdedNode,
    CrowdedSpans,
    LongCircuits,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays
    from lightloom.validate.certificates.circuits_per_byte import RingWitness

_MOST_CUT_SPANS = 64


@dataclass(frozen=True, eq=False)
class RingBound:
    """What the slowest pair can have at most, and why.

    `ratio`: circuits a byte; 0 where not all pairs can be served. `counts`: fewest
    circuits of each pair with that ratio.
    """

    ratio: Fraction
    counts: IntArray
    witness: RingWitness


def ring_bound(fabric: Ring, ways: RingWays) -> RingBound:
    """Return the best bound by spans, by long circuits and by nodes.

    Spans are taken alone, and a span of one fibre with one of the other where pairs
    have two ways: who leaves a part of the ring does so at one of its two ends. On a
    ring of more than 64 nodes 64 spans of each fibre are paired.

    O(pairs * reach) for the lines, squared spans where pairs have two ways, beside
    fifty products of their sparse matrix with a column.
    """
    lines = _Lines(len(ways.src))
    _spans(lines, fabric, ways)
    if (ways.count == 2).any():
        _cuts(lines, fabric, ways)
    _long(lines, fabric, ways)
    _nodes(lines, fabric, ways)
    loads, capacity = lines.stacked()
    best = best_threshold(ways.size_bytes, fabric.ports_per_node, loads, capacity)
    line = best.line
    assert line is not None
    return RingBound(best.ratio, best.counts, lines.witness(line, best.ratio))


class _Lines:
    """Rows of 0 and 1 over pairs, with capacities, collected block by block."""

    def __init__(self, pairs: int) -> None:
        self._pairs = pairs
        self._line: list[IntArray] = []
        self._pair: list[IntArray] = []
        self._capacity: list[IntArray] = []
        self._makers: list[tuple[int, Callable[[int, Fraction], RingWitness]]] = []
        self._count = 0

    def add(
        self,
        line: IntArray,
        pair: IntArray,
        capacity: IntArray,
        maker: Callable[[int, Fraction], RingWitness],
    ) -> None:
        """Add lines numbered from 0, and how one of them is told as a witness."""
        self._line.append(self._count + line)
        self._pair.append(pair)
        self._capacity.append(capacity)
        self._makers.append((self._count, maker))
        self._count += len(capacity)

    def stacked(self) -> tuple[Callable[[IntArray], IntArray], IntArray]:
        """Return the loads of all lines as a function of circuits, and capacities."""
        from scipy.sparse import csr_array

        line, pair = np.concatenate(self._line), np.concatenate(self._pair)
        matrix = csr_array(
            (np.ones(len(line), dtype=np.int64), (line, pair)),
            shape=(self._count, self._pairs),
        )
        return lambda counts: matrix @ counts, np.concatenate(self._capacity)

    def witness(self, line: int, ratio: Fraction) -> RingWitness:
        """Return a line as the witness of a ratio."""
        start, maker = max(
            (entry for entry in self._makers if entry[0] <= line),
            key=lambda entry: entry[0],
        )
        return maker(line - start, ratio)


def _spans(lines: _Lines, fabric: Ring, ways: RingWays) -> None:
    """Add each span of each fibre, crossed by the pairs that have no other way."""
    way, span = crossings(ways, fabric.nodes)
    forced = ways.count[ways.pair[way]] == 1
    way, span = way[forced], span[forced]
    capacity = np.full(fabric.directions * fabric.nodes, fabric.wavelengths)
    lines.add(
        ways.direction[way] * fabric.nodes + span,
        ways.pair[way],
        capacity,
        lambda line, ratio: CrowdedSpans(ratio, (divmod(line, fabric.nodes),)),
    )


def _cuts(lines: _Lines, fabric: Ring, ways: RingWays) -> None:
    """Add pairs of a span of each fibre, crossed by pairs that meet one either way."""
    nodes = fabric.nodes
    tried = np.unique(
        np.linspace(0, nodes - 1, min(nodes, _MOST_CUT_SPANS)).astype(int)
    )
    crossed = np.zeros((2, len(ways.src), len(tried)), dtype=np.bool_)
    for direction in range(2):
        mine = ways.direction == direction
        reached = (tried[None, :] - ways.begin[mine, None]) % nodes
        crossed[direction, ways.pair[mine]] = reached < ways.hops[mine, None]
    two = ways.count == 2
    pair, one, other = np.nonzero(crossed[0, two, :, None] & crossed[1, two, None, :])
    found = [(np.flatnonzero(two)[pair], one, other)]
    everywhere = np.arange(len(tried))
    for direction in range(2):
        pair, span = np.nonzero(crossed[direction] & ~two[:, None])
        pair, span = (np.repeat(values, len(tried)) for values in (pair, span))
        free = np.tile(everywhere, len(pair) // len(tried))
        found.append((pair, free, span) if direction else (pair, span, free))
    pair, one, other = (np.concatenate(parts) for parts in zip(*found, strict=True))

    def told(line: int, ratio: Fraction) -> RingWitness:
        forth, back = divmod(line, len(tried))
        return CrowdedSpans(ratio, ((0, int(tried[forth])), (1, int(tried[back]))))

    capacity = np.full(len(tried) ** 2, 2 * fabric.wavelengths)
    lines.add(one * len(tried) + other, pair, capacity, told)


def _long(lines: _Lines, fabric: Ring, ways: RingWays) -> None:
    """Add, for each number of circuits a wavelength may hold, the pairs so long."""
    nodes = fabric.nodes
    fits = np.unique(nodes // np.arange(1, nodes + 1))
    hops = nodes // (fits + 1) + 1  # the shortest of which no more than that fit
    shortest = np.minimum.reduceat(ways.hops, ways.first)
    sets: list[tuple[int, ...]] = [(0,), (1,), (0, 1)]
    for directions in sets[: 3 if fabric.directions == 2 else 1]:
        inside = np.isin(ways.direction, directions)
        able = np.minimum.reduceat(inside, ways.first)
        line, pair = np.nonzero(able & (shortest >= hops[:, None]))
        capacity = len(directions) * fabric.wavelengths * fits
        lines.add(line, pair, capacity, _LongMaker(hops, directions))


@dataclass(frozen=True, eq=False)
class _LongMaker:
    """Tells a line about long circuits as a witness."""

    hops: IntArray
    directions: tuple[int, ...]

    def __call__(self, line: int, ratio: Fraction) -> RingWitness:
        return LongCircuits(ratio, int(self.hops[line]), self.directions)


def _nodes(lines: _Lines, fabric: Ring, ways: RingWays) -> None:
    """Add what each node sends, and what it receives."""
    pair = np.arange(len(ways.src))
    capacity = np.full(fabric.nodes, fabric.ports_per_node)
    lines.add(
        ways.src, pair, capacity, lambda line, ratio: CrowdedNode(ratio, "row", line)
    )
    lines.add(
        ways.dst, pair, capacity, lambda line, ratio: CrowdedNode(ratio, "column", line)
    )
