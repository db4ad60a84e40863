"""The search for configurations over which bytes of a demand take one circuit or two.

All ports change together, so that a byte which some circuit has brought to a relay may
go on in any later step. For several numbers of configurations, circuits are chosen that
lead large pairs straight and all others over one relay, and a linear program divides
the bytes of each pair among its ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.relays.relay_moves import RelayMoves, whole_bytes
from lightloom.synth.relays.stage_circuits import (
    even_stages,
    fitted_stages,
    named_stages,
    paired_stages,
)
from lightloom.synth.relays.stage_program import (
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

    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Demand

_MOST_WAYS = 2**15
"""Most ways of all pairs; where there are more, nothing is relayed."""
_WORK = 2**18
"""Ways of all linear programs together."""
_STARTS = ((True, 0.5), (False, 1.0), (True, 1.0), (False, 0.25), (True, 0.25))
"""Whether nodes change places, and what circuits carry in all, in busiest lines."""
_DEEPENED = 4
"""Numbers of steps that are tried from all starts."""
_FITS = 2


@dataclass(frozen=True, eq=False)
class StageAnswer:
    """Stages and what goes which way.

    `stages`: what the ports hold in turn. `ways`: of the pairs of the demand. `flows`:
    how much goes each way. `total`: when it ends, in picoseconds, if ports are all
    there is.
    """

    stages: RelayStages
    ways: RelayWays
    flows: RelayFlows
    total: float


class StageSearch:
    """The search for stages, in which every port of a node has a circuit.

    Times are in picoseconds, nodes those of the demand.

    `fabric`: on which any two nodes may have a circuit. `ports`: circuits of a node at
    a time, of equal rates. `demand`: bytes of each pair, one pair or more. `both_ways`:
    whether a port joins two nodes both ways, so that permutations are matchings.
    """

    def __init__(
        self,
        fabric: CircuitFabric,
        ports: int,
        demand: Demand,
        *,
        both_ways: bool = False,
    ) -> None:
        src, dst, size_bytes = demand_columns(demand, fabric.node_count)
        self.fabric, self.nodes = fabric, np.unique(np.concatenate([src, dst]))
        self._ports, self._both_ways = ports, both_ways
        self.src, self.dst = (np.searchsorted(self.nodes, end) for end in (src, dst))
        self.size_bytes = size_bytes
        self._byte_ps = BITS_PER_BYTE * PS_PER_S / (fabric.node_bits_per_s / ports)
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
        self._known: dict[tuple[tuple[int, ...], bytes], StageAnswer | None] = {}

    def answers(self, limit_ps: float) -> Iterator[StageAnswer]:
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
        switches, nodes = self._ports, len(self.nodes)
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
        circuits = len(turns) * self._ports
        left = max(side[circuits:][:1] or [0] for side in self._relayed)[0]
        busiest = max(float(self.size.sum(axis=axis).max()) for axis in (0, 1))
        mean = (self.need.sum() + left * self._byte_ps) / len(self.nodes)
        return self._fixed(turns) + max(busiest, float(mean)) / self._ports

    def _fitted(
        self, turns: tuple[int, ...], starts: Sequence[tuple[bool, float]], fits: int
    ) -> Iterator[StageAnswer]:
        """Yield answers of so many steps, none where some pair has no way.

        What circuits are taken to carry is what those of the answer before carried.
        """
        begin = paired_stages if self._both_ways else even_stages
        even = begin(len(self.nodes), self._ports, turns)
        of = even.configuration
        for named, share in starts:
            least = self._promise(turns) - self._fixed(turns)
            data = np.full(len(of), share * least / len(of))
            stages = even
            if named:
                stages = named_stages(even, self.size, float(data[0]))
            for _ in range(fits):
                carried = np.bincount(of, weights=data).astype(np.float64)
                stages = fitted_stages(
                    stages, self.size, carried, paired=self._both_ways
                )
                answer = self._answer(stages)
                if answer is None:
                    break
                data = answer.flows.stage * self.need.max()
                yield answer

    def _answer(self, stages: RelayStages) -> StageAnswer | None:
        """Return the best answer on some circuits, worked out once."""
        told = stages.turns, stages.heads.tobytes()
        if told not in self._known:
            idle = stages.heads == np.arange(len(self.nodes))
            stages = RelayStages(np.where(idle, -1, stages.heads), stages.turns)
            ways = relay_ways(stages, self.row_of)
            self.work += len(ways.pair)
            flows = best_flows(stages, ways, self.need / self.need.max())
            answer = None
            if flows is not None:
                data = float(flows.stage.sum() * self.need.max())
                total = self._fixed(stages.turns) + data
                answer = StageAnswer(stages, ways, flows, total)
            self._known[told] = answer
        return self._known[told]

    def moves(self, answer: StageAnswer) -> RelayMoves:
        """Return what moves by an answer, to the byte; rounds are stages."""
        stages, ways = answer.stages, answer.ways
        _, ports, nodes = stages.heads.shape
        relayed, pairs = ways.second >= 0, len(self.size_bytes)
        moved = whole_bytes(self.size_bytes, ways.pair, answer.flows.amount, relayed)
        some, over = moved > 0, (moved > 0) & relayed
        # Bytes of a pair that take the same circuit on different ways move together.
        told, place = np.unique(
            np.concatenate([ways.first[some], ways.second[over]]) * pairs
            + np.concatenate([ways.pair[some], ways.pair[over]]),
            return_inverse=True,
        )
        size_bytes = np.zeros(len(told), dtype=np.int64)
        np.add.at(size_bytes, place, np.concatenate([moved[some], moved[over]]))
        circuit, pair = np.divmod(told, pairs)
        slot, src = np.divmod(circuit, nodes)
        stage, port = np.divmod(slot, ports)
        dst = stages.heads[stages.configuration[stage], port, src]
        src, dst, origin, final = (
            self.nodes[end] for end in (src, dst, self.src[pair], self.dst[pair])
        )
        return RelayMoves(stage, src, dst, origin, final, size_bytes, port)
