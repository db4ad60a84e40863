"""The plug of fibre rings: collectives by found circuits, demands with a bound."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.instances.fabrics.ring import Ring
from lightloom.plans.setting import FibreSpans, Setting
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.lanes import in_turns
from lightloom.synth.demand_rounds import DECOMPOSITION, demand_traffic
from lightloom.synth.fabrics.demand_task import demand_of
from lightloom.synth.fabrics.plug import FabricPlug, MadeSchedule
from lightloom.synth.fabrics.realiser import Arrangement, CircuitRealiser
from lightloom.synth.fabrics.training_plug import TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.relays.pair_lines import PairLines, ring_lines
from lightloom.synth.relays.two_rounds import TwoRounds
from lightloom.synth.ring.arcs import ring_ways
from lightloom.synth.ring.demand_turns import ring_lanes, ring_turns
from lightloom.synth.ring.quick_circuits import faster_ring_circuits, lap_parts
from lightloom.synth.ring.relay_steps import joined_by, relay_steps
from lightloom.synth.ring.span_time import least_ring_ps
from lightloom.synth.ring.training_circuits import CIRCUITS
from lightloom.synth.ring.wavelengths import (
    ALGORITHM,
    ring_certificates,
    ring_schedule,
    ring_wavelengths,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Collective, Demand
    from lightloom.instances.instance import Instance
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound

_MOST_PAIRS_AGAIN = 256
"""Most pairs of a demand whose largest, and so on, are also served by themselves."""


class RingRealiser(CircuitRealiser[Ring]):
    """Lights rounds on wavelengths that are found for all their pairs together."""

    predicts = True

    def arrange(self, task: Collective) -> Arrangement:
        """Return the nodes in the order of the ring, so that next ranks are near.

        Where light runs one way only, blocks that a tree gathers run that way too.
        """
        backwards = self.fabric.directions == 1 and task.op == "gather"
        nodes = tuple(sorted(task.nodes, reverse=backwards))
        return Arrangement({GIVEN_ORDER: nodes})

    def setting(self, task: Collective, arrangement: Arrangement) -> Setting:
        """Return what algorithms are told: how much light there is for far ranks."""
        fabric = self.fabric
        spans = FibreSpans(
            fabric.reach,
            fabric.wavelengths,
            fabric.directions,
            fabric.bits_per_second_per_wavelength,
        )
        return dataclasses.replace(super().setting(task, arrangement), spans=spans)

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
            made = None if moves is None else self.relay(moves)
            if made is not None:
                yield made, {"steps": [*steps]}

    def lines(self, src: IntArray, dst: IntArray) -> list[PairLines]:
        """Return nodes, and all spans together."""
        return ring_lines(self.fabric, src, dst, np.zeros_like(src))

    def light(self, demand: Demand) -> Circuits:
        """Return the better of circuits by a search and by laps."""
        return faster_ring_circuits(self.fabric, demand, seed=self.seed)

    def parts_of(self, moved: TrafficRound) -> IntArray | None:
        """Return parts by laps of an exchange of all with all, where it is one."""
        return lap_parts(self.fabric, moved.transfers.src, moved.transfers.dst)


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

    def schedule(lit: Realisation) -> Schedule:
        return Schedule(fabric.table(), demand, named, lit.segments, lit.parts)

    made = [*ring_turns(fabric, demand, seed)]
    turns = [schedule(realised) for realised, _ in made]
    if len(demand.src):
        fixed_ps = float(fabric.alpha_ps + fabric.reconfiguration_ps)
        limit_ps = min((lasts_ps for _, lasts_ps in made), default=math.inf)
        ways = ring_lanes(fabric, demand, seed)
        turns += map(schedule, in_turns(ways, fixed_ps, seed, limit_ps))
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
