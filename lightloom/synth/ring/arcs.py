"""The arcs of circuits on a ring, in columns: which fibre, and which spans of it.

Colouring of circular arcs: wavelengths for the circuits of one fibre ring.

Fill every span up to the number of colours with idle arcs of one span. At every node
then as many arcs end as begin, and joining each that ends to one that begins makes
closed walks. A colour is a walk that goes round exactly once; so a colouring is a
joining in which every walk does. Exchanging two successors at a node splits a walk
that stops there twice, or merges two that both stop there: the search merges walks
that go round more than once with others, and splits what comes out elsewhere.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError
from lightloom.core.seed import seeded_random
from lightloom.synth.demand_columns import demand_columns

if TYPE_CHECKING:
    import random

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring


@dataclass(frozen=True, eq=False)
class RingWays:
    """Every way of every pair within reach, sorted by pair and direction.

    `pair`, `direction`, `begin`, `hops`: the ways, shape (ways,): light in `direction`
    crosses the spans ``begin`` to ``begin + hops - 1``, modulo the nodes, in that order
    or the other one. `first`: first way of each pair, shape (pairs,). `count`: ways of
    each pair, one or two.
    """

    src: IntArray
    dst: IntArray
    size_bytes: IntArray
    pair: IntArray
    direction: IntArray
    begin: IntArray
    hops: IntArray
    first: IntArray
    count: IntArray


def ring_ways(fabric: Ring, demand: Demand) -> RingWays:
    """Return the ways of the pairs of a demand.

    Raises `InputError` if the demand does not fit the ring; `InfeasibleError` if a pair
    has no way within reach, naming it.
    """
    return ways_between(fabric, *demand_columns(demand, fabric.nodes))


def ways_between(
    fabric: Ring, src: IntArray, dst: IntArray, size_bytes: IntArray
) -> RingWays:
    """Return the ways of pairs, shape (pairs,) each; raise as `ring_ways` does."""
    forth = (dst - src) % fabric.nodes
    begin = np.stack([src, dst], axis=1)[:, : fabric.directions]
    hops = np.stack([forth, fabric.nodes - forth], axis=1)[:, : fabric.directions]
    open_ = hops <= fabric.reach
    lost = np.flatnonzero(~open_.any(axis=1))
    if len(lost):
        row = int(lost[0])
        raise InfeasibleError(
            f"node {dst[row]} is out of reach of node {src[row]}",
            where=f"demand row {row}",
            found=f"{hops[row].min()} spans",
            allowed=f"at most {fabric.reach}",
            fix="place them nearer to each other, or set `relays = true` in a demand",
        )
    pair, direction = np.nonzero(open_)
    count = open_.sum(axis=1)
    first = np.cumsum(count) - count
    return RingWays(
        src,
        dst,
        size_bytes,
        pair,
        direction,
        begin[open_],
        hops[open_],
        first,
        count,
    )


def crossings(ways: RingWays, nodes: int) -> tuple[IntArray, IntArray]:
    """Return a row for each span that each way crosses: the way, and the span."""
    way = np.repeat(np.arange(len(ways.pair)), ways.hops)
    hop = np.arange(len(way)) - np.repeat(np.cumsum(ways.hops) - ways.hops, ways.hops)
    return way, (ways.begin[way] + hop) % nodes


DEFAULT_EFFORT = 20_000


def arc_colours(
    begin: IntArray,
    hops: IntArray,
    nodes: int,
    colours: int,
    *,
    seed: int = 0,
    effort: int = DEFAULT_EFFORT,
) -> IntArray | None:
    """Return a colour for each arc such that no span has one twice, if one is found.

    `begin`, `hops`: first span and number of spans of each arc, shape (arcs,); 1 <=
    hops <= nodes. Arc i covers the spans ``begin[i]`` to ``begin[i] + hops[i] - 1``,
    modulo `nodes`.

    Returns colours, shape (arcs,), 0 to ``colours - 1``; ``None`` where a span has more
    arcs than colours, or the search ends without a colouring, which proves nothing.

    O(arcs + nodes * colours) beside the search; deterministic.
    """
    load = span_loads(begin, hops, nodes)
    if len(begin) and load.max() > colours:
        return None
    idle = np.repeat(np.arange(nodes), colours - load)
    starts = np.concatenate([begin, idle])
    ends = np.concatenate([begin + hops, idle + 1]) % nodes
    length = [*hops.tolist(), *([1] * len(idle))]
    # The k-th arc that ends at a node is followed by the k-th that begins there.
    successor = np.empty(len(starts), dtype=np.int64)
    successor[np.argsort(ends, kind="stable")] = np.argsort(starts, kind="stable")
    walks = _Walks(starts.tolist(), length, nodes)
    walks.take(successor.tolist())
    if not walks.settle(seeded_random(seed), effort):
        return None
    colour = np.empty(len(starts), dtype=np.int64)
    for number, walk in enumerate(walks.walks):
        colour[walk] = number
    return colour[: len(begin)]


def span_loads(begin: IntArray, hops: IntArray, nodes: int) -> IntArray:
    """Return how many arcs cover each span of a ring, shape (nodes,).

    Parameters
    ----------
    begin, hops
        First span and number of spans of each arc, shape (arcs,).
    nodes
        Number of nodes, and of spans.

    Examples
    --------
    Of two arcs on a ring of four, one crosses the last span:

    >>> span_loads(np.array([0, 3]), np.array([2, 2]), 4).tolist()
    [2, 1, 0, 1]
    """
    change = np.bincount(begin, minlength=2 * nodes + 1)
    change -= np.bincount(begin + hops, minlength=2 * nodes + 1)
    load: IntArray = np.cumsum(change)[: 2 * nodes].reshape(2, nodes).sum(axis=0)
    return load


class _Walks:
    """Closed walks that stop nowhere twice, of arcs named by numbers."""

    def __init__(self, begin: list[int], hops: list[int], nodes: int) -> None:
        self._begin, self._hops, self._nodes = begin, hops, nodes
        self._walk_of = [0] * len(begin)
        self._at: list[list[int]] = [[] for _ in range(nodes)]
        for arc, node in enumerate(begin):
            self._at[node].append(arc)
        self.walks: list[list[int]] = []

    def take(self, successor: list[int]) -> None:
        """Take the walks of a joining, split wherever they stop twice."""
        seen = [False] * len(successor)
        for first in range(len(successor)):
            walk = []
            arc = first
            while not seen[arc]:
                seen[arc] = True
                walk.append(arc)
                arc = successor[arc]
            for loop in self._loops(walk) if walk else ():
                self._put(len(self.walks), loop)

    def settle(self, rng: random.Random, effort: int) -> bool:
        """Return whether all walks go round once, after so many exchanges at most."""
        long = [number for number in range(len(self.walks)) if self._turns(number) > 1]
        while long and effort:
            effort -= 1
            place = rng.randrange(len(long))
            number = long[place]
            joint = rng.choice(self.walks[number])
            other = self._walk_of[rng.choice(self._at[self._begin[joint]])]
            if other == number:
                continue
            merged = self._merged(number, other, self._begin[joint])
            first = rng.randrange(len(merged))
            loops = self._loops(merged[first:] + merged[:first])
            if len(loops) < 2:
                continue
            changed = [number, other]
            changed += range(len(self.walks), len(self.walks) + len(loops) - 2)
            for target, loop in zip(changed, loops, strict=True):
                self._put(target, loop)
            long = [walk for walk in long if walk not in (number, other)]
            long += [walk for walk in changed if self._turns(walk) > 1]
        return not long

    def _turns(self, number: int) -> int:
        """Return how often a walk goes round."""
        return sum(self._hops[arc] for arc in self.walks[number]) // self._nodes

    def _put(self, number: int, walk: list[int]) -> None:
        """Make a walk the one of a number, or the next one."""
        if number == len(self.walks):
            self.walks.append(walk)
        else:
            self.walks[number] = walk
        for arc in walk:
            self._walk_of[arc] = number

    def _merged(self, one: int, other: int, node: int) -> list[int]:
        """Return two walks as one, the second put in where both stop."""
        merged: list[int] = []
        for walk in (self.walks[one], self.walks[other]):
            stops = [self._begin[arc] for arc in walk]
            place = stops.index(node)
            merged += walk[place:] + walk[:place]
        return merged

    def _loops(self, walk: list[int]) -> list[list[int]]:
        """Return a closed walk split into ones that stop nowhere twice."""
        loops: list[list[int]] = []
        path: list[int] = []
        place_of: dict[int, int] = {}
        for arc in walk:
            node = self._begin[arc]
            place = place_of.get(node)
            if place is not None:
                loop = path[place:]
                del path[place:]
                for left in loop:
                    del place_of[self._begin[left]]
                loops.append(loop)
            place_of[node] = len(path)
            path.append(arc)
        loops.append(path)
        return loops


class LitRing:
    """Wavelengths of the spans, lasers and photodiodes of a ring, lit one by one.

    `fabric`, `ways`: the ring, and the ways of the pairs.

    `counts`: circuits of each pair, shape (pairs,).
    """

    def __init__(self, fabric: Ring, ways: RingWays) -> None:
        self._fabric, self._ways = fabric, ways
        nodes, colours = fabric.nodes, fabric.wavelengths
        shape = (fabric.directions, nodes, colours)
        self._spans = np.zeros(shape, dtype=np.bool_)
        self._lasers = np.zeros((nodes, colours), dtype=np.bool_)
        self._photodiodes = np.zeros((nodes, colours), dtype=np.bool_)
        self._lit: list[tuple[int, int]] = []
        self._crossed = [
            (begin + np.arange(hops)) % nodes
            for begin, hops in zip(ways.begin.tolist(), ways.hops.tolist(), strict=True)
        ]
        self._shared = fabric.transceivers < fabric.directions
        self.counts = np.zeros(len(ways.src), dtype=np.int64)

    def free(self, way: int) -> npt.NDArray[np.bool_]:
        """Return which wavelengths a way could use, shape (wavelengths,)."""
        ways = self._ways
        taken = self._spans[ways.direction[way], self._crossed[way]].any(axis=0)
        if self._shared:
            pair = ways.pair[way]
            taken |= self._lasers[ways.src[pair]]
            taken |= self._photodiodes[ways.dst[pair]]
        untaken: npt.NDArray[np.bool_] = ~taken
        return untaken

    def light(self, way: int, wavelength: int) -> None:
        """Light a way on a wavelength that is free."""
        self.light_all(np.array([way]), np.array([wavelength]))

    def light_all(self, way: IntArray, wavelength: IntArray) -> None:
        """Light ways on wavelengths that are free, shape (circuits,) both.

        `way`, `wavelength`: rows of the ways, and wavelengths from 0.
        """
        ways, nodes = self._ways, self._fabric.nodes
        hops = ways.hops[way]
        circuit = np.repeat(np.arange(len(way)), hops)
        hop = np.arange(len(circuit)) - np.repeat(np.cumsum(hops) - hops, hops)
        span = (ways.begin[way][circuit] + hop) % nodes
        before = int(np.count_nonzero(self._spans))
        self._spans[ways.direction[way][circuit], span, wavelength[circuit]] = True
        # Each span of each circuit was free, and no two of them are the same.
        assert int(np.count_nonzero(self._spans)) == before + len(circuit)
        pair = ways.pair[way]
        self._lasers[ways.src[pair], wavelength] = True
        self._photodiodes[ways.dst[pair], wavelength] = True
        self._lit += zip(way.tolist(), wavelength.tolist(), strict=True)
        np.add.at(self.counts, pair, 1)

    def fill(self) -> None:
        """Give what is free to the pair with the least circuits a byte, and so on.

        A pair without a free wavelength on its ways gets none later. O(circuits)
        looks at the spans of a pair's ways.
        """
        ways = self._ways
        sizes = ways.size_bytes.tolist()
        queue = [
            (Fraction(count, size), pair)
            for pair, (count, size) in enumerate(
                zip(self.counts.tolist(), sizes, strict=True)
            )
        ]
        heapq.heapify(queue)
        while queue:
            pair = queue[0][1]
            if self.fill_pair(pair):
                ratio = Fraction(int(self.counts[pair]), sizes[pair])
                heapq.heapreplace(queue, (ratio, pair))
            else:
                heapq.heappop(queue)

    def fill_pair(self, pair: int) -> bool:
        """Light one more circuit of a pair, the shorter way first, if there is room."""
        ways = self._ways
        first = int(ways.first[pair])
        own = range(first, first + int(ways.count[pair]))
        for way in sorted(own, key=lambda way: (int(ways.hops[way]), way)):
            free = self.free(way)
            if free.any():
                self.light(way, int(np.argmax(free)))
                return True
        return False

    def circuits(self) -> tuple[Circuits, IntArray]:
        """Return the circuits, one row a way in use, and the pair of each row."""
        ways = self._ways
        lit = np.array(sorted(self._lit), dtype=np.int64).reshape(-1, 2)
        used, width = np.unique(lit[:, 0], return_counts=True)
        pair = ways.pair[used]
        circuits = Circuits(
            ways.src[pair],
            ways.dst[pair],
            Ragged.from_lengths(width, lit[:, 1].copy()),
            direction=ways.direction[used],
        )
        return circuits, pair
