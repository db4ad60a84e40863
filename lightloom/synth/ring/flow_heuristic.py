"""The fast scheduler of a ring: flows, rounding, repair (SiP-ML paper, A.1, steps 1-4).

The paper stops at rounding, which breaks both the limits of spans and the continuity of
wavelengths. Here what does not fit is taken back, what is free is given away, and arcs
are coloured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import NoAnswerError
from lightloom.synth.circuit_ratios import least_ratio
from lightloom.synth.ring.arcs import crossings, ring_ways
from lightloom.synth.ring.direction_split import split_circuits
from lightloom.synth.ring.flow_steps import mean_flows
from lightloom.synth.ring.ratio_ladder import light_split
from lightloom.synth.ring.wavelengths import RingPlan

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays

FLOW_HEURISTIC = "flow-heuristic"
"""Its name among methods and controllers."""

_LAPS = 32
"""How fine the flow is, see `lightloom.synth.ring.flow_steps.mean_flows`."""
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
