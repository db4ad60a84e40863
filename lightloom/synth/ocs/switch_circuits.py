"""Circuits of parallel optical switches, optimal at any size (SiP-ML paper, A.2).

With n[pair] the circuits of a pair, summed over the switches, a count matrix is that of
some switches if and only if no row and no column of it sums to more than their number
(König). So the best slowest pair has the largest ratio t for which ceil(t bytes)
circuits a pair respect all sums; what is left is an edge colouring.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.certificate import Certificate
from lightloom.core.circuit import Circuits
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fluid_schedule import fluid_schedule
from lightloom.core.schedule import Algorithm
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.circuit_ratios import best_threshold, order_by_ratio
from lightloom.synth.demand_columns import demand_columns
from lightloom.validate.certificates.circuits_per_byte import (
    OBJECTIVE,
    SaturatedPort,
    port_witness,
)

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs


ALGORITHM = "saturated-port"
"""Name of the algorithm in schedules, and of its kind of certificate."""


@dataclass(frozen=True, eq=False)
class SwitchPlan:
    """Circuits of all switches, with the proof that the slowest pair is at its best.

    `counts`: circuits of each pair, in the order of the demand; zeros where `ratio` is
    0. `ratio`: circuits a byte of the slowest pair; ``None`` where there is no pair.
    `witness`: why no pair can be promised more; ``None`` where there is no pair.
    `switches`: circuits of each switch, sorted by (src, dst). `pairs`: for the circuits
    of each switch, the row of the demand they serve. `conflicts`: ties of spare
    circuits in which a choice was made. If 0, the sorted ratios of all pairs are
    lexicographically the largest there are.
    """

    demand: Demand
    counts: IntArray
    ratio: Fraction | None
    witness: SaturatedPort | None
    switches: tuple[Circuits, ...]
    pairs: tuple[IntArray, ...]
    conflicts: int


def switch_circuits(fabric: Ocs, demand: Demand, *, spare: bool = True) -> SwitchPlan:
    """Return circuits whose slowest pair has as many circuits a byte as can be.

    Returns plan whose witness `check_saturated_port` of
    `lightloom.validate.certificates.circuits_per_byte` accepts. If some node has more
    partners than switches, the optimum is 0: the witness names the node, and there are
    no circuits. Exact and deterministic.

    Raises `InputError`: bidirectional circuits, or a demand that does not fit the
    fabric.

    For E pairs on Q switches O(E Q log(E Q)) with `spare`, beside the ties.
    """
    if fabric.bidirectional:
        what = "bidirectional circuits are matchings, which counts do not decide"
        fix = (
            "`synth --algorithm decomposition`, or `solve --problem ocs --solver highs`"
        )
        raise InputError(what, where="fabric.bidirectional", found=True, fix=fix)
    src, dst, size_bytes = demand_columns(demand, fabric.nodes)
    if not len(src):
        return SwitchPlan(demand, src, None, None, *_idle(fabric), 0)

    def loads(counts: IntArray) -> IntArray:
        ends = (
            np.bincount(end, weights=counts, minlength=fabric.nodes)
            for end in (src, dst)
        )
        return np.concatenate(list(ends)).astype(np.int64)

    capacity = np.full(2 * fabric.nodes, fabric.switches, dtype=np.int64)
    best = best_threshold(size_bytes, fabric.switches, loads, capacity)
    assert best.line is not None
    side, node = divmod(best.line, fabric.nodes)
    witness = SaturatedPort("column" if side else "row", node, best.ratio)
    if not best.ratio:
        return SwitchPlan(demand, best.counts, best.ratio, witness, *_idle(fabric), 0)
    counts, conflicts = best.counts, 0
    if spare:
        dealer = SpareCircuits(
            src, dst, size_bytes, counts, fabric.nodes, fabric.switches
        )
        dealer.deal()
        counts, conflicts = dealer.counts, dealer.conflicts
    held = _permutations(src, dst, counts, fabric.switches)
    return SwitchPlan(demand, counts, best.ratio, witness, *held, conflicts)


def ocs_schedule(fabric: Ocs, plan: SwitchPlan) -> Schedule:
    """Return the demand of a plan served at once, without footer.

    `plan`: circuits of each switch for a demand, and the pairs that they serve.

    Raises `InfeasibleError` if the plan's ratio is 0, naming the node.
    """
    if plan.witness is not None and not plan.witness.ratio:
        node, column = plan.witness.node, plan.witness.side == "column"
        partners = (plan.demand.dst if column else plan.demand.src).count(node)
        does = "receives from" if column else "sends to"
        raise InfeasibleError(
            f"node {node} {does} {partners} others, and has one circuit on each of"
            f" {fabric.switches} switches",
            where=f"demand, {plan.witness.side} {node}",
            found=partners,
            allowed=f"at most {fabric.switches}",
            fix="more switches, or configurations that take turns:"
            " `lightloom synth --algorithm decomposition`",
        )
    algorithm = Algorithm(ALGORITHM)
    return fluid_schedule(fabric, plan.demand, algorithm, plan.switches, plan.pairs)


def port_certificates(plan: SwitchPlan) -> tuple[Certificate, ...]:
    """Return the proof of a plan's ratio, without value; none without a pair."""
    port = plan.witness
    if port is None:
        return ()
    bound, witness = port.ratio, port_witness(port)
    return (Certificate(OBJECTIVE.name, ALGORITHM, bound, None, witness),)


def _permutations(
    src: IntArray, dst: IntArray, counts: IntArray, switches: int
) -> tuple[tuple[Circuits, ...], tuple[IntArray, ...]]:
    """Return the circuits of each switch, and the pairs they serve."""
    pair = np.repeat(np.arange(len(src)), counts)
    colour = edge_colours(src[pair], dst[pair])
    order = np.lexsort((dst[pair], src[pair], colour))
    pair = pair[order]
    ends = np.searchsorted(colour[order], np.arange(switches + 1))
    pairs = tuple(pair[low:high] for low, high in pairwise(ends.tolist()))
    return tuple(Circuits(src[rows], dst[rows]) for rows in pairs), pairs


def _idle(fabric: Ocs) -> tuple[tuple[Circuits, ...], tuple[IntArray, ...]]:
    """Return switches that hold nothing."""
    none = np.zeros(0, dtype=np.int64)
    count = fabric.switches
    return (Circuits(none, none),) * count, (none,) * count


class SpareCircuits:
    """Deals out free ports, always to the pair with the least circuits a byte.

    A pair that cannot be raised has a full row or a full column, and stays as it is,
    as ports are not given back. Pairs of equal ratio are raised together if all of them
    can be, else as many of them as possible: a maximum flow. Without such conflicts no
    other circuits have sorted ratios that are lexicographically larger; `conflicts`
    counts the ties in which a choice was made.

    `src`, `dst`, `size_bytes`: the pairs, shape (pairs,), ends numbered 0 to `nodes` -
    1. `counts`: circuits they have; rows and columns hold `ports` at most.
    """

    def __init__(
        self,
        src: IntArray,
        dst: IntArray,
        size_bytes: IntArray,
        counts: IntArray,
        nodes: int,
        ports: int,
    ) -> None:
        self._ends = src, dst
        self._size = size_bytes
        self.counts = counts.copy()
        self.conflicts = 0
        self._room: list[list[int]] = [
            (ports - np.bincount(end, weights=counts, minlength=nodes))
            .astype(np.int64)
            .tolist()
            for end in (src, dst)
        ]

    def deal(self) -> None:
        """Raise pairs until none can be raised.

        O(units log units), a unit being a circuit that one pair alone could get,
        beside a maximum flow for each conflict.
        """
        units, first = self._units()
        src, dst = (end[units].tolist() for end in self._ends)
        rows, columns = self._room
        pairs = units.tolist()
        ends = [*np.flatnonzero(first).tolist()[1:], len(pairs)]
        raised: list[int] = []
        begin = 0
        for end in ends if pairs else ():
            places = range(begin, end)
            begin = end
            free = [
                place for place in places if rows[src[place]] and columns[dst[place]]
            ]
            if len(free) > 1 and (
                _crowded(rows, [src[place] for place in free])
                or _crowded(columns, [dst[place] for place in free])
            ):
                self.conflicts += 1
                free = self._matched(free, src, dst)
            for place in free:
                rows[src[place]] -= 1
                columns[dst[place]] -= 1
                raised.append(pairs[place])
        np.add.at(self.counts, np.array(raised, dtype=np.int64), 1)

    def _units(self) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return the pair of each unit, by the ratio it is raised from."""
        src, dst = self._ends
        room = [np.array(side, dtype=np.int64) for side in self._room]
        most = np.minimum(room[0][src], room[1][dst])
        pair = np.repeat(np.arange(len(src)), most)
        earlier = np.arange(len(pair)) - np.repeat(np.cumsum(most) - most, most)
        order, first = order_by_ratio(self.counts[pair] + earlier, self._size[pair])
        return pair[order], first

    def _matched(self, places: list[int], src: list[int], dst: list[int]) -> list[int]:
        """Return a largest set of places for which there is room, in order."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        rows, row = np.unique([src[place] for place in places], return_inverse=True)
        columns, column = np.unique(
            [dst[place] for place in places], return_inverse=True
        )
        row, column = 1 + row, 1 + len(rows) + column
        sink = 1 + len(rows) + len(columns)
        inner = np.arange(1, sink)
        tail = np.concatenate([0 * rows, row, inner[len(rows) :]])
        head = np.concatenate([inner[: len(rows)], column, 0 * columns + sink])
        room = [
            *(self._room[0][node] for node in rows.tolist()),
            *(1 for _ in places),
            *(self._room[1][node] for node in columns.tolist()),
        ]
        graph = csr_array(
            (np.array(room, dtype=np.int32), (tail, head)), shape=(sink + 1, sink + 1)
        )
        flow = maximum_flow(graph, 0, sink).flow
        carried = np.asarray(flow[row, column]).reshape(-1)
        return [places[place] for place in np.flatnonzero(carried > 0).tolist()]


def _crowded(room: list[int], ends: list[int]) -> bool:
    """Return whether some node has less room than it has ends."""
    return any(count > room[node] for node, count in Counter(ends).items())
