"""The plug of fibre rings: collectives by found circuits, demands with a bound."""

from __future__ import annotations

from itertools import combinations
from math import inf, isqrt
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.units import transmission_ps
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.ring import Ring
from lightloom.plans.algorithms.tree import StrideTrees
from lightloom.plans.gossip import GOSSIPS
from lightloom.replay import completion_time_ps
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_rounds import DECOMPOSITION, demand_traffic
from lightloom.synth.fabrics.demand_task import demand_of
from lightloom.synth.fabrics.plug import FabricPlug, MadeSchedule
from lightloom.synth.fabrics.realiser import Arrangement, Realiser
from lightloom.synth.fabrics.training_plug import TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.relays.pair_lines import PairLines, ring_lines
from lightloom.synth.relays.realised_moves import realised_moves
from lightloom.synth.relays.two_rounds import TwoRounds
from lightloom.synth.ring.arcs import ring_ways
from lightloom.synth.ring.demand_divisions import ring_divisions
from lightloom.synth.ring.demand_turns import ring_turns
from lightloom.synth.ring.quick_circuits import faster_ring_circuits
from lightloom.synth.ring.relay_steps import joined_by, relay_steps
from lightloom.synth.ring.span_time import least_ring_ps
from lightloom.synth.ring.training_circuits import CIRCUITS
from lightloom.synth.ring.wavelengths import (
    ALGORITHM,
    ring_certificates,
    ring_schedule,
    ring_wavelengths,
)
from lightloom.synth.ring_2d.realisation import realise_rings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Collective, Demand
    from lightloom.instances.instance import Instance
    from lightloom.synth.auto.search_space import Proposal
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound

_MOST_NEAR = 8
_MOST_PAIRS_AGAIN = 256
"""Most pairs of a demand whose largest, and so on, are also served by themselves."""
_CROSS_THE_RING = ("disjoint-trees", "spanning-tree")
"""Pipelines over many far pairs, for which spans have no room."""
_DEPTHS = (1, 2, 3, 4, 6, 8, 11, 16)
"""Rounds of trees that are compared."""
_HUBS = (64, 48, 32, 24, 20, 16, 14, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2)
"""Ranks that hubs may be apart."""
_MOST_HUBS = 3
_WAVES = 6
"""Trees for broadcasts that are compared."""
_MOST_ROWS = 2**17


class RingRealiser(Realiser[Ring]):
    """Lights rounds on wavelengths that are found for all their pairs together."""

    predicts = True
    suited = ("balanced-digraph", "stride-trees")

    @property
    def ports(self) -> int:
        """A laser each."""
        return self.fabric.ports_per_node

    def arrange(self, task: Collective) -> Arrangement:
        """Return the nodes in the order of the ring, so that next ranks are near.

        Where light runs one way only, blocks that a tree gathers run that way too.
        """
        backwards = self.fabric.directions == 1 and task.op == "gather"
        nodes = tuple(sorted(task.nodes, reverse=backwards))
        return Arrangement({GIVEN_ORDER: nodes})

    def proposals(
        self, task: Collective, arrangement: Arrangement
    ) -> Iterator[Proposal]:
        """Yield what is near on a ring, then what `Realiser` proposes.

        Every operation has a way in which a node sends to its neighbour only, and
        gossip one for each choice of near and far ranks whose circuits fit the spans.
        """
        if task.op in GOSSIPS:
            for ahead in self._steps(task):
                steps = {*ahead}
                if self.fabric.directions > 1:
                    steps |= {task.rank_count - step for step in ahead}
                heads = sorted(steps)
                yield "balanced-digraph", {"heads": heads}
                next_only, all_near = len(ahead) == 1, ahead[-1] == len(ahead)
                if len(heads) > 1 and (
                    next_only or not all_near or task.op != "all-to-all"
                ):
                    # Blocks that are equally far both ways go in halves.
                    yield "balanced-digraph", {"heads": heads, "pieces": 2}
        else:
            yield from self._stride_trees(task)
        for name, given in super().proposals(task, arrangement):
            if name not in _CROSS_THE_RING or given.get("pieces", 1) == 1:
                yield name, given

    def _stride_trees(self, task: Collective) -> Iterator[Proposal]:
        """Yield trees of few wavelengths a span, of few rounds, and between."""
        fabric, others = self.fabric, task.rank_count - 1
        both_ways = fabric.directions > 1
        side = -(-others // 2) if both_ways else others
        most = min(fabric.reach, fabric.wavelengths)
        strides = sorted({-(-side // depth) for depth in _DEPTHS} | {1})
        strides = [one for one in strides if 1 <= one <= most]
        if not op_of(task).uses_blocks:
            yield from self._waves(task, strides)
            return
        for stride in strides:
            # Or the farthest rank is alone in its round.
            alone = both_ways and others % 2 and (side - 1) % stride == 0
            for pieces in (1, 2) if alone else (1,):
                given = {"stride": stride, "both_ways": both_ways}
                yield "stride-trees", {**given, "pieces": pieces}

    def _waves(self, task: Collective, strides: list[int]) -> Iterator[Proposal]:
        """Yield trees with hubs and without that promise to end soonest.

        Each span has as many arcs as chains and distances of hubs together.
        """
        fabric, ranks = self.fabric, task.rank_count
        both_ways = fabric.directions > 1
        most = min(fabric.reach, (ranks - 1) // fabric.directions)
        hubs = [one for one in _HUBS if one <= most]
        ways: list[tuple[tuple[int, ...], int]] = [((), each) for each in strides]
        for count in range(1, _MOST_HUBS + 1):
            for some in combinations(hubs, count):
                ways += [(some, stride) for stride in (1, 2, 3) if stride < some[-1]]
        pieces = np.arange(1, max(1, _MOST_ROWS // ranks) + 1)
        promised = []
        for apart, stride in ways:
            lit = fabric.wavelengths // (stride + len(apart))
            if not lit:
                continue
            tree = StrideTrees(stride=stride, both_ways=both_ways, hubs=apart)
            rate = lit * fabric.bits_per_second_per_wavelength
            step_ps = (
                fabric.alpha_ps + transmission_ps(task.buffer_bytes, rate) / pieces
            )
            whole_ps = tree.broadcast_rounds(ranks, pieces) * step_ps
            best = int(whole_ps.argmin())
            keys = {"stride": stride, "both_ways": both_ways, "hubs": [*apart]}
            promised.append((float(whole_ps[best]), {**keys, "pieces": best + 1}))
        promised.sort(key=lambda one: one[0])
        for _, keys in promised[:_WAVES]:
            yield "stride-trees", keys

    def _steps(self, task: Collective) -> Iterator[list[int]]:
        """Yield steps whose circuits fit the spans: near ranks, and some far ones.

        Circuits from every rank to those the steps on need as many wavelengths as the
        steps sum to. What all ranks need goes to the next k, and with few bytes 3 k + 1
        steps on; what one needs takes few hops by steps that are powers.
        """
        fabric, ranks = self.fabric, task.rank_count
        most = min(fabric.reach, (ranks - 1) // fabric.directions)
        root, third = isqrt(ranks), max(2, round(ranks ** (1 / 3)))
        far = [[1, root - 1], [1, root], [1, third, third**2]]
        if task.op != "all-to-all":
            far = [[*range(1, near + 1), 3 * near + 1] for near in (1, 2, 3, 4, 5)]
        near = [[*range(1, count + 1)] for count in range(1, _MOST_NEAR + 1)]
        for steps in (*near, *far):
            fits = steps[-1] <= most and sum(steps) <= fabric.wavelengths
            if steps == [1] or (fits and steps == sorted({*steps})):
                yield steps

    def least_ps(self, rounds: Sequence[TrafficRound], *, cuts: bool) -> int:
        """Return a lower bound by what nodes send and spans carry in each round."""
        del cuts
        return least_ring_ps(self.fabric, rounds)

    def relayed(
        self, demand: Demand, limit_ps: float
    ) -> Iterator[tuple[Realisation, dict[str, ParameterValue]]]:
        """Yield a demand over circuits of few steps, alike from all nodes."""
        del limit_ps
        ring = self.fabric
        src, dst, size_bytes = demand_columns(demand, ring.nodes)
        apart = set(((dst - src) % ring.nodes).tolist())
        for steps in relay_steps(ring, apart):
            each = max(1, ring.wavelengths // sum(steps))
            rate = each * ring.bits_per_second_per_wavelength

            def lines(
                src: IntArray, dst: IntArray, rate: int = rate
            ) -> list[PairLines]:
                alone = PairLines(src * ring.nodes + dst, np.ones_like(src), rate)
                return [*self.lines(src, dst), alone]

            joined = joined_by(ring, steps)
            ways = TwoRounds((src, dst, size_bytes), joined, lines)
            moves = ways.moves(every=True, piped=False, round_ps=ring.alpha_ps)
            made = None if moves is None else realised_moves(self, moves)
            if made is not None:
                yield made, {"steps": [*steps]}

    def lines(self, src: IntArray, dst: IntArray) -> list[PairLines]:
        """Return nodes, and all spans together."""
        return ring_lines(self.fabric, src, dst, np.zeros_like(src))

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds."""
        fabric, seed = self.fabric, self.seed
        return realise_rings(
            fabric,
            rounds,
            lambda demand: faster_ring_circuits(fabric, demand, seed=seed),
        )


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[MadeSchedule]:
    """Yield schedules of a demand, at once and in turns: see `FabricPlug`.

    Raises
    ------
    InputError
        Another algorithm, or parameters.
    InfeasibleError
        A pair out of reach; or more pairs than there is light for at once, where
        turns are not wanted.
    NoAnswerError
        No wavelengths were found.
    """
    fabric, known = instance.fabric, (ALGORITHM, DECOMPOSITION)
    assert isinstance(fabric, Ring)
    demand = demand_of(instance, algorithm, parameters, known=known)
    ring_ways(fabric, demand)  # raises, naming the row, if light does not reach
    if algorithm != DECOMPOSITION:
        try:
            plan = ring_wavelengths(fabric, demand, seed=seed)
        except (InfeasibleError, NoAnswerError):
            if algorithm == ALGORITHM:
                raise
        else:
            proven = () if demand.relays else ring_certificates(plan)
            yield MadeSchedule(ring_schedule(fabric, plan), proven)
            if algorithm == ALGORITHM:
                return
    named = Algorithm(DECOMPOSITION, {}, seed)

    def schedule(made: Realisation) -> Schedule:
        return Schedule(fabric.table(), demand, named, made.segments, made.parts)

    turns = [schedule(made) for made in ring_turns(fabric, demand, seed)]
    if len(demand.src) and fabric.transceivers == fabric.directions:
        known_ps = min(map(completion_time_ps, turns), default=inf)
        turns += map(schedule, ring_divisions(fabric, demand, seed, known_ps))
    if not turns or len(demand.src) <= _MOST_PAIRS_AGAIN:
        realiser = RingRealiser(fabric, seed, "")
        rounds = demand_traffic(DECOMPOSITION, demand, 1, seed)
        turns.append(schedule(realiser.realise(rounds)))
    yield from map(MadeSchedule, turns)


def _alike(fabric: Ring, devices: int) -> Ring:
    """Return a ring of replicas on which no circuit comes near the other way round."""
    replicas = max(3, -(-(2 * fabric.reach + 1) // devices))
    return replace(fabric, nodes=replicas * devices)


PLUG = FabricPlug(
    "ring",
    realiser=RingRealiser,
    schedules=schedules,
    circuits=CIRCUITS,
    layout=TrainingLayout(alike=_alike, ring=True, blocks="required"),
)
