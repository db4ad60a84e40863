"""Replays of an iteration on circuits that stay for it, or follow its traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.fabric import PacketFabric
from lightloom.replay.workload import IterationTimeline, replay_iteration
from lightloom.training.critical_path import ROUNDS, fastest_held
from lightloom.training.fabric_networks import controller_time, network_for
from lightloom.training.iteration_traffic import traffic

if TYPE_CHECKING:
    from lightloom.core.iteration import Iteration
    from lightloom.core.task import Demand
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.synth.fabrics.training_plug import PlaneCircuits
    from lightloom.training.circuit_controllers import ControllerTime
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.training_plan import TrainingRequest

_MOST_AUTO_TASKS = 40_000
"""Tasks that ``auto`` replays to find other circuits than the first, in all rounds."""


@dataclass(frozen=True, eq=False)
class KeptReplay:
    """An iteration on circuits that are not set for each call.

    `controller`: what the controller cost, where circuits followed the traffic. `held`:
    of each plane, where circuits stayed.
    """

    circuits: CircuitMode
    timeline: IterationTimeline
    demand: Demand
    controller: ControllerTime | None = None
    held: PlaneCircuits | None = None


def kept_replay(
    iteration: Iteration,
    fabric: AnyFabric,
    collectives: CollectiveModel,
    way: CircuitMode,
    request: TrainingRequest,
) -> KeptReplay:
    """Return the replay of an iteration with circuits set in one way.

    `way`: one of `modes`, and not ``per-call``. Where ``critical-path`` finds nothing
    faster than the circuits of ``one-shot``, the replay says ``one-shot``. `request`:
    its period, controller and launch count, and whether circuits are ``auto``: then no
    more is replayed than a fixed amount of work allows.

    Raises `InputError, InfeasibleError, NoAnswerError`: as `network_for`.
    """
    demand = traffic(iteration, collectives)
    stays = way in ("one-shot", "critical-path")
    if stays and demand.src and not isinstance(fabric, PacketFabric):
        refined = way == "critical-path"
        rounds = refining_rounds(request, iteration.task_count) if refined else 0
        timeline, held, other = fastest_held(
            fabric, iteration, collectives, demand, request.launch, rounds
        )
        way = "critical-path" if other else "one-shot"
        return KeptReplay(way, timeline, demand, held=held)
    if stays:
        way = "one-shot"
    network = network_for(
        *(fabric, demand, collectives, way),
        *(request.period_ps, request.controlled_by),
    )
    timeline = replay_iteration(iteration, network, request.launch)
    return KeptReplay(way, timeline, demand, controller_time(network))


def refining_rounds(request: TrainingRequest, tasks: int) -> int:
    """Return how often better circuits are looked for, beyond the first ones.

    `request`: where circuits are ``auto``, no more is replayed than a fixed amount of
    work allows.
    """
    if request.circuits != "auto":
        return ROUNDS
    return min(ROUNDS, _MOST_AUTO_TASKS // max(1, tasks))
