"""Schedules of demands whose bytes may take two circuits, over a relay.

All switches change together, so that a byte which some circuit has brought to a relay
may go on in any later step. For several numbers of configurations, circuits are chosen
that lead large pairs straight and all others over one relay, and a linear program
divides the bytes of each pair among its ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
)
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.ocs.relay_circuits import (
    even_stages,
    fitted_stages,
    named_stages,
)
from lightloom.synth.ocs.relay_program import (
    RelayFlows,
    RelayStages,
    RelayWays,
    best_flows,
    relay_ways,
)
from lightloom.validate.certificates.completion_time.relayed_demand import (
    relayed_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs

__all__ = ["RELAYS", "relay_schedules"]

RELAYS = "relays"
"""Name of the algorithm."""
_MOST_WAYS = 2**15
"""Most ways of all pairs; where there are more, nothing is relayed."""
_WORK = 2**18
"""Ways of all linear programs together."""
_STARTS = ((True, 0.5), (False, 1.0), (True, 1.0), (False, 0.25), (True, 0.25))
"""Whether nodes change places, and what circuits carry in all, in busiest lines."""
_DEEPENED = 4
"""Numbers of steps that are tried from all starts."""
_FITS = 2
_ROUNDING = 1e-6
"""Of a byte; what is nearly whole counts as whole."""


@dataclass(frozen=True, eq=False)
class _Answer:
    """Stages, what goes which way, and when it ends."""

    stages: RelayStages
    ways: RelayWays
    flows: RelayFlows
    total: float


class _Search:
    """The search for stages; times are in picoseconds, nodes those of the demand."""

    def __init__(self, fabric: Ocs, demand: Demand) -> None:
        src, dst, size_bytes = demand_columns(demand, fabric.nodes)
        self.fabric, self.nodes = fabric, np.unique(np.concatenate([src, dst]))
        self.src, self.dst = (np.searchsorted(self.nodes, end) for end in (src, dst))
        self.size_bytes = size_bytes
        self._byte_ps = BITS_PER_BYTE * PS_PER_S / fabric.bits_per_second_per_circuit
        self.need = size_bytes * self._byte_ps
        count = len(self.nodes)
        self._relayed = [
            relayed_bytes(end, size_bytes, count) for end in (self.src, self.dst)
        ]
        self.size = np.zeros((count, count))
        self.size[self.src, self.dst] = self.need
        self.row_of = np.full((count, count), -1)
        self.row_of[self.src, self.dst] = np.arange(len(src))
        self.work = 0
        self._known: dict[tuple[tuple[int, ...], bytes], _Answer | None] = {}

    def answers(self, limit_ps: float) -> Iterator[_Answer]:
        """Yield answers that end sooner than a limit, and than those before.

        Every number of steps is tried from one start, the best from all.
        """
        turns_left = sorted(self._turns(), key=self._promise)
        totals: dict[tuple[int, ...], float] = {}
        for starts, fits in ((_STARTS[:1], 1), (_STARTS, _FITS)):
            best = sorted(totals, key=lambda turns: totals[turns])[:_DEEPENED]
            for turns in best or turns_left:
                if self._promise(turns) >= limit_ps or self.work > _WORK:
                    continue
                for answer in self._fitted(turns, starts, fits):
                    totals[turns] = min(answer.total, totals.get(turns, math.inf))
                    if answer.total < limit_ps:
                        limit_ps = answer.total
                        yield answer

    def _turns(self) -> Iterator[tuple[int, ...]]:
        """Yield steps of configurations.

        Those from which no circuits could lead to all partners of a node are left out.
        """
        switches, nodes = self.fabric.switches, len(self.nodes)
        partners = int(max(np.bincount(end).max() for end in (self.src, self.dst)))
        every: list[tuple[int, ...]] = [(2,)]
        for count in range(2, nodes):
            once = tuple(1 + (place == count // 2) for place in range(count))
            every += [(1,) * count, once, (2,) * count]
        for turns in every:
            steps, count, again = sum(turns), len(turns), turns.count(2)
            if steps * (steps - 1) // 2 * switches**2 * nodes > _MOST_WAYS:
                continue
            ways = switches * count + switches**2 * (count * (count - 1) // 2 + again)
            if ways >= partners:
                yield turns

    def _fixed(self, turns: tuple[int, ...]) -> float:
        fabric = self.fabric
        changes = len(turns) - 1 + fabric.initial_configuration_charged
        return changes * fabric.reconfiguration_ps + sum(turns) * fabric.alpha_ps

    def _promise(self, turns: tuple[int, ...]) -> float:
        """Return when stages end at the earliest, by the ports that relays load."""
        circuits = len(turns) * self.fabric.switches
        left = max(side[circuits:][:1] or [0] for side in self._relayed)[0]
        busiest = max(float(self.size.sum(axis=axis).max()) for axis in (0, 1))
        mean = (self.need.sum() + left * self._byte_ps) / len(self.nodes)
        return self._fixed(turns) + max(busiest, float(mean)) / self.fabric.switches

    def _fitted(
        self, turns: tuple[int, ...], starts: Sequence[tuple[bool, float]], fits: int
    ) -> Iterator[_Answer]:
        """Yield answers of so many steps, none where some pair has no way.

        What circuits are taken to carry is what those of the answer before carried.
        """
        even = even_stages(len(self.nodes), self.fabric.switches, turns)
        of = even.configuration
        for named, share in starts:
            least = self._promise(turns) - self._fixed(turns)
            data = np.full(len(of), share * least / len(of))
            stages = even
            if named:
                stages = named_stages(even, self.size, float(data[0]))
            for _ in range(fits):
                carried = np.bincount(of, weights=data).astype(np.float64)
                stages = fitted_stages(stages, self.size, carried)
                answer = self._answer(stages)
                if answer is None:
                    break
                data = answer.flows.stage * self.need.max()
                yield answer

    def _answer(self, stages: RelayStages) -> _Answer | None:
        """Return the best answer on some circuits, worked out once."""
        told = stages.turns, stages.heads.tobytes()
        if told not in self._known:
            ways = relay_ways(stages, self.row_of)
            self.work += len(ways.pair)
            flows = best_flows(stages, ways, self.need / self.need.max())
            answer = None
            if flows is not None:
                data = float(flows.stage.sum() * self.need.max())
                total = self._fixed(stages.turns) + data
                answer = _Answer(stages, ways, flows, total)
            self._known[told] = answer
        return self._known[told]


def relay_schedules(
    fabric: Ocs, demand: Demand, limit_ps: float = math.inf
) -> Iterator[Schedule]:
    """Yield schedules of a demand whose bytes may take two circuits.

    Parameters
    ----------
    fabric
        The switches, whose circuits lead one way each.
    demand
        Bytes of each pair; it allows relays.
    limit_ps
        Only what is predicted to end sooner is made.

    Returns
    -------
    Each is predicted to end sooner than those before; without footer. None where ways
    are too many. Deterministic.
    """
    if not demand.src:
        yield Schedule(fabric.table(), demand, Algorithm(RELAYS), (), ())
        return
    search = _Search(fabric, demand)
    for answer in search.answers(limit_ps):
        yield _schedule(fabric, demand, search, answer)


def _schedule(
    fabric: Ocs, demand: Demand, search: _Search, answer: _Answer
) -> Schedule:
    """Return the schedule of an answer, to the byte."""
    stages, ways = answer.stages, answer.ways
    _, switches, nodes = stages.heads.shape
    moved = _whole_bytes(search.size_bytes, ways, answer.flows.amount)
    some, over = moved > 0, (moved > 0) & (ways.second >= 0)
    pairs = len(search.size_bytes)
    # Bytes of a pair that take the same circuit on different ways are one transfer.
    told, place = np.unique(
        np.concatenate([ways.first[some], ways.second[over]]) * pairs
        + np.concatenate([ways.pair[some], ways.pair[over]]),
        return_inverse=True,
    )
    size_bytes = np.zeros(len(told), dtype=np.int64)
    np.add.at(size_bytes, place, np.concatenate([moved[some], moved[over]]))
    circuit, pair = np.divmod(told, pairs)
    slot, src = np.divmod(circuit, nodes)
    stage, switch = np.divmod(slot, switches)
    held = stages.configuration[stage]
    ends = (src, stages.heads[held, switch, src], search.src[pair], search.dst[pair])
    columns = [*(search.nodes[end] for end in ends), size_bytes]
    segments: list[Segment] = []
    parts: list[StepPart] = []
    step = np.unique(stage, return_inverse=True)[1]
    for plane in range(switches):
        here = switch == plane
        for index, one in enumerate(np.unique(held[here]).tolist()):
            rows = np.flatnonzero(here & (held == one))
            lit = rows[np.unique(src[rows], return_index=True)[1]]
            circuits = Circuits(columns[0][lit], columns[1][lit])
            segments.append(Segment(plane, index, circuits))
            for now in np.unique(step[rows]).tolist():
                own = rows[step[rows] == now]
                transfers = _transfers(*(column[own] for column in columns))
                parts.append(StepPart(now, plane, index, transfers))
    parts.sort(key=lambda part: part.index)
    algorithm = Algorithm(RELAYS, {"steps": [*stages.turns]})
    return Schedule(fabric.table(), demand, algorithm, tuple(segments), tuple(parts))


def _transfers(
    src: IntArray, dst: IntArray, origin: IntArray, final: IntArray, size: IntArray
) -> FluidTransfers:
    """Return transfers, with the ends of their pairs where some are relayed."""
    if (src == origin).all() and (dst == final).all():
        return FluidTransfers(src, dst, size)
    return FluidTransfers(src, dst, size, origin, final)


def _whole_bytes(size_bytes: IntArray, ways: RelayWays, amount: FloatArray) -> IntArray:
    """Return whole bytes for each way; what rounding leaves goes the fullest one."""
    total = np.bincount(ways.pair, weights=amount)[ways.pair]
    # What is too little for the program to count goes straight, if it can.
    share = np.divide(amount, total, out=np.zeros_like(amount), where=total > 0)
    moved: IntArray = np.floor(share * size_bytes[ways.pair] + _ROUNDING).astype(
        np.int64
    )
    rest = size_bytes.copy()
    np.subtract.at(rest, ways.pair, moved)
    order = np.lexsort((ways.second >= 0, -amount, ways.pair))
    first = order[np.unique(ways.pair[order], return_index=True)[1]]
    moved[first] += rest[ways.pair[first]]
    return moved
