"""The plug of parallel optical switches: collectives on lanes, demands in turns."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lightloom.core.task import Collective
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.auto import AUTO
from lightloom.synth.fabrics.demand_task import demand_of
from lightloom.synth.fabrics.plug import FabricPlug, MadeSchedule
from lightloom.synth.fabrics.realiser import Realiser
from lightloom.synth.fabrics.training_plug import TrainingLayout
from lightloom.synth.ocs.baseline_schedules import BASELINES, named_baseline
from lightloom.synth.ocs.collective_realisation import (
    SwitchRounds,
    outlined_switch_ps,
    rounds_in_turn,
)
from lightloom.synth.ocs.decomposition import (
    OCS_DEMAND_ALGORITHMS,
    ocs_demand_schedules,
)
from lightloom.synth.ocs.relays_on_switches import relays_on_switches
from lightloom.synth.ocs.training_circuits import CIRCUITS
from lightloom.synth.relays.stages import StageSearch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance
    from lightloom.plans.plan import RoundOutline
    from lightloom.plans.setting import Setting
    from lightloom.synth.fabrics.realiser import Arrangement
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound


class OcsRealiser(Realiser[Ocs]):
    """Puts rounds on switches, one permutation of a round on each."""

    predicts = True

    def __init__(self, fabric: Ocs, seed: int, router: str) -> None:
        super().__init__(fabric, seed, router)
        self._last: tuple[Sequence[TrafficRound], SwitchRounds] | None = None

    @property
    def ports(self) -> int:
        """A switch each; two where a switch holds matchings, which rings need."""
        switches = self.fabric.switches
        return max(1, switches // 2) if self.fabric.bidirectional else switches

    def setting(self, task: Collective, arrangement: Arrangement) -> Setting:
        """Return what algorithms are told: each port is a switch, and they may turn."""
        ranks, ports, in_turn = task.rank_count, self.ports, []
        if task.op == "all-to-all" and 1 < ports < ranks - 1:
            in_turn = rounds_in_turn(self.fabric, ranks, ports, task.buffer_bytes)
        return dataclasses.replace(
            super().setting(task, arrangement), switched=True, in_turn=tuple(in_turn)
        )

    def outlined_ps(self, rounds: Sequence[RoundOutline], buffer_bytes: int) -> int:
        """Return a lower bound by the time of all ports of a rank."""
        return outlined_switch_ps(self.fabric, rounds, buffer_bytes)

    def least_ps(self, rounds: Sequence[TrafficRound], *, cuts: bool) -> int:
        """Return when rounds end if the bytes of pairs are shared evenly.

        `auto` compares candidates by it. It is a bound on what switches that change
        together take; a few of the candidates that it rules out might end sooner with
        switches that change by themselves.
        """
        del cuts
        return self._placed(rounds).predicted_ps()

    def pieces(self, rounds: Sequence[TrafficRound]) -> int:
        """Return how many pieces of a chunk let switches share all pairs evenly."""
        return self._placed(rounds).pieces()

    def relayed(
        self, demand: Demand, limit_ps: float
    ) -> Iterator[tuple[Realisation, dict[str, ParameterValue]]]:
        """Yield what `Realiser` does, each switch a port."""
        fabric = self.fabric
        search = StageSearch(
            fabric, fabric.switches, demand, both_ways=fabric.bidirectional
        )
        for answer in search.answers(limit_ps):
            made = relays_on_switches(answer.stages, search.moves(answer))
            yield made, {"steps": [*answer.stages.turns]}

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds."""
        return self._placed(rounds).realisation()

    def realise_quickly(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps whose switches change together."""
        return self._placed(rounds).realisation(search=False)

    def _placed(self, rounds: Sequence[TrafficRound]) -> SwitchRounds:
        """Return rounds on switches; those asked for last are kept."""
        if self._last is None or self._last[0] is not rounds:
            self._last = rounds, SwitchRounds(self.fabric, rounds)
        return self._last[1]


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[MadeSchedule]:
    """Yield schedules of a demand, or of a collective that is a baseline.

    Raises
    ------
    InputError
        Another algorithm, invalid parameters, or one configuration where it does not
        serve.
    """
    del seed
    fabric, known = instance.fabric, OCS_DEMAND_ALGORITHMS
    task = instance.communication
    assert isinstance(fabric, Ocs)
    if isinstance(task, Collective):
        yield MadeSchedule(named_baseline(fabric, task, algorithm, parameters))
        return
    demand = demand_of(instance, algorithm, parameters, known=known)
    wanted = known if algorithm == AUTO else (algorithm,)
    yield from ocs_demand_schedules(fabric, demand, wanted)


def _own(instance: Instance, algorithm: str) -> bool:
    """Tell whether the task is a demand, or a baseline is wanted."""
    return not isinstance(instance.communication, Collective) or algorithm in BASELINES


def _alike(fabric: Ocs, devices: int) -> Ocs:
    """Return switches for two replicas: a ring with two different neighbours' links."""
    return replace(fabric, nodes=2 * devices)


def _idle_alike(_fabric: Ocs, _nodes: int) -> bool:
    """Return true: idle nodes take no circuit of others."""
    return True


PLUG = FabricPlug(
    "ocs",
    realiser=OcsRealiser,
    schedules=schedules,
    own=_own,
    circuits=CIRCUITS,
    layout=TrainingLayout(alike=_alike, idle_alike=_idle_alike, blocks="any"),
)
