"""The fast scheduler of a ring: flows, rounding, repair (SiP-ML paper, A.1, steps 1-4).

The paper stops at rounding, which breaks both the limits of spans and the continuity of
wavelengths. Here what does not fit is taken back, what is free is given away, and arcs
are coloured.

The flow steps of the fast wavelength scheduler of a ring (SiP-ML paper, A.1).

One wavelength is a unit of flow that goes round once. On the ring, cut open, the best
one is a longest path of a graph without cycles: one sweep over the nodes finds it, and
no simplex is needed. What enters the cut ring by an arc across the cut has to leave by
the same arc: the path runs from the head of that arc to its tail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import NoAnswerError
from lightloom.synth.circuit_ratios import least_ratio
from lightloom.synth.ring.arcs import crossings, ring_ways, span_loads
from lightloom.synth.ring.ratio_ladder import light_split, split_circuits
from lightloom.synth.ring.wavelengths import RingPlan

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays


FLOW_HEURISTIC = "flow-heuristic"
"""Its name among methods and controllers."""

_LAPS = 32
"""How fine the flow is, see `lightloom.synth.ring.flow_heuristic.mean_flows`."""
_EFFORT = 300


def control_ring(fabric: Ring, demand: Demand, *, seed: int = 0) -> RingPlan:
    """Return circuits for a demand, fast, with no bound.

    Every pair keeps to one way, the shorter one where it fits. Mean flows over laps,
    times the wavelengths, are rounded at random; a pair keeps one circuit at least.

    Raises `InputError` if the demand does not fit the ring; `InfeasibleError` if a pair
    is out of reach; `NoAnswerError` if no wavelengths are found that serve all pairs.
    """
    ways = ring_ways(fabric, demand)
    ones = np.ones(len(ways.src), dtype=np.int64)
    on_way = split_circuits(fabric, ways, ones, seed)
    ring = None
    if on_way is not None:
        way = np.flatnonzero(on_way)
        counts = _rounded(fabric, ways, way, np.random.default_rng(seed))
        room = _SpanLoads(fabric, ways, way, counts)
        spare = 0
        while ring is None and spare < fabric.wavelengths:
            room.take_back(fabric.wavelengths - spare)
            if not spare:
                room.give_away(fabric.wavelengths)
            on_way[way] = room.counts
            ring = light_split(fabric, ways, on_way, seed, _EFFORT)
            spare = 2 * spare + 1
    if ring is None:
        what = "no wavelengths found that serve all pairs at once"
        fix = "`lightloom.synth.ring.wavelengths` searches longer"
        raise NoAnswerError(what, where="demand", fix=fix)
    circuits, pairs = ring.circuits()
    ratio = least_ratio(ring.counts, ways.size_bytes)[0] if len(ones) else None
    return RingPlan(demand, circuits, pairs, ring.counts, ratio, None, None)


def _rounded(
    fabric: Ring, ways: RingWays, way: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return the circuits of each pair by rounded flows, one at least."""
    flow = np.zeros(len(way))
    for direction in range(fabric.directions):
        mine = ways.direction[way] == direction
        arc = way[mine]
        size = ways.size_bytes[ways.pair[arc]]
        flow[mine] = mean_flows(
            ways.begin[arc], ways.hops[arc], size, fabric.nodes, _LAPS
        )
    wanted = flow * fabric.wavelengths
    counts = np.floor(wanted + rng.random(len(way))).astype(np.int64)
    return np.maximum(counts, 1)


class _SpanLoads:
    """Circuits on one way a pair, and the loads of the spans they cross."""

    def __init__(
        self, fabric: Ring, ways: RingWays, way: IntArray, counts: IntArray
    ) -> None:
        self.counts = counts
        self._size = ways.size_bytes[ways.pair[way]].astype(np.float64)
        of_way, span = crossings(ways, fabric.nodes)
        fiber = ways.direction[of_way] * fabric.nodes + span
        self._crossed = np.zeros((len(way), fabric.directions * fabric.nodes), np.bool_)
        row = np.full(len(ways.pair), -1)
        row[way] = np.arange(len(way))
        used = row[of_way] >= 0
        self._crossed[row[of_way[used]], fiber[used]] = True
        self._load = counts @ self._crossed

    def take_back(self, limit: int) -> None:
        """Drop circuits on overloaded spans, from who is left with most a byte."""
        while self._load.max(initial=0) > limit:
            crossing = self._crossed[:, np.argmax(self._load)]
            left = np.where(crossing, (self.counts - 1) / self._size, 0.0)
            least = int(np.argmax(left))
            if left[least] <= 0:
                return
            self.counts[least] -= 1
            self._load -= self._crossed[least]

    def give_away(self, limit: int) -> None:
        """Give free room to the pair with the least circuits a byte, and so on."""
        ratio = self.counts / self._size
        while len(ratio):
            least = int(np.argmin(ratio))
            if ratio[least] == np.inf:
                return
            if (self._load[self._crossed[least]] >= limit).any():
                ratio[least] = np.inf
                continue
            self.counts[least] += 1
            self._load += self._crossed[least]
            ratio[least] = self.counts[least] / self._size[least]


def mean_flows(
    begin: IntArray, hops: IntArray, size_bytes: IntArray, nodes: int, laps: int
) -> FloatArray:
    """Return the share of laps that use each arc, once all demand is served.

    Lap by lap, the arcs with the largest sum of 1 / (bytes unserved) are taken, and
    served a step each. The step is such that about `laps` of them serve the most loaded
    span. The ring is cut where the fewest arcs cross. While one of these is unserved,
    the lap runs by the one with the fewest bytes left, later by none.

    `begin`, `hops`: first span and number of spans of each arc, shape (arcs,).

    Returns shape (arcs,), 0 to 1. The arcs across a span add up to 1 at most. O(laps *
    arcs).
    """
    if not len(begin):
        return np.zeros(0)
    cut = int(np.argmin(span_loads(begin, hops, nodes)))
    # Node 0 of the line is the head of the cut span, node `nodes` - 1 its tail.
    start = (begin - cut - 1) % nodes
    end = start + hops
    busiest = _span_bytes(begin, hops, size_bytes, nodes).max()
    step = max(float(busiest) / laps, float(size_bytes.max()) / laps)
    line = _OpenRing(start.tolist(), end.tolist(), size_bytes.tolist(), nodes)
    used = [0] * len(begin)
    count = 0
    while line.waiting:
        count += 1
        for arc in line.lap():
            used[arc] += 1
            line.serve(arc, step)
    return np.array(used) / max(count, 1)


def _span_bytes(
    begin: IntArray, hops: IntArray, size_bytes: IntArray, nodes: int
) -> FloatArray:
    """Return the bytes that cross each span."""
    change = np.bincount(begin, weights=size_bytes, minlength=2 * nodes + 1)
    change -= np.bincount(begin + hops, weights=size_bytes, minlength=2 * nodes + 1)
    load: FloatArray = np.cumsum(change)[: 2 * nodes].reshape(2, nodes).sum(axis=0)
    return load


class _OpenRing:
    """A ring cut open, with the arcs that still wait for service."""

    def __init__(
        self, start: list[int], end: list[int], size_bytes: list[int], nodes: int
    ) -> None:
        self._start, self._end, self._nodes = start, end, nodes
        self._left = [float(size) for size in size_bytes]
        self._gain = [1.0 / left for left in self._left]
        self._from: list[list[int]] = [[] for _ in range(nodes)]
        self._across: list[int] = []
        for arc, stop in enumerate(end):
            if stop >= nodes:
                self._across.append(arc)
            else:
                self._from[start[arc]].append(arc)
        self.waiting = len(start)

    def serve(self, arc: int, step: float) -> None:
        """Serve a step of an arc; one that is done waits no more."""
        self._left[arc] -= step
        if self._left[arc] > 0:
            self._gain[arc] = 1.0 / self._left[arc]
            return
        self.waiting -= 1
        start = self._start[arc]
        (self._across if self._end[arc] >= self._nodes else self._from[start]).remove(
            arc
        )

    def lap(self) -> list[int]:
        """Return the arcs of the best lap."""
        if not self._across:
            return self._path(0, self._nodes - 1)
        across = max(self._across, key=self._gain.__getitem__)
        tail, head = self._start[across], self._end[across] - self._nodes
        return [across, *self._path(head, tail)]

    def _path(self, first: int, last: int) -> list[int]:
        """Return the arcs of the longest path between two nodes of the line."""
        best = [0.0] * (last + 1)
        by = [-1] * (last + 1)
        end, gain = self._end, self._gain
        for node in range(first, last):
            here = best[node]
            if here > best[node + 1]:
                best[node + 1], by[node + 1] = here, -1
            for arc in self._from[node]:
                stop = end[arc]
                if stop <= last and here + gain[arc] > best[stop]:
                    best[stop] = here + gain[arc]
                    by[stop] = arc
        path = []
        node = last
        while node > first:
            arc = by[node]
            if arc < 0:
                node -= 1
            else:
                path.append(arc)
                node = self._start[arc]
        return path
