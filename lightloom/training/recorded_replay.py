"""Replays of iterations that were cut and placed elsewhere, on any fabric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.fabric import step_ps
from lightloom.replay.workload import (
    CallQueue,
    RingCollectives,
    ScheduledCalls,
    replay_iteration,
)
from lightloom.replay.workload.call_queue import alone, settings
from lightloom.training.call_networks import KeptQueue, calls_demand, with_control
from lightloom.training.call_schedules import CallSchedules
from lightloom.training.fabric_networks import modes
from lightloom.training.kept_replay import kept_replay
from lightloom.training.relayed_transfers import RelayedRings, relayed

if TYPE_CHECKING:
    from lightloom.core.iteration import Iteration
    from lightloom.core.task import Demand
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload import IterationTimeline
    from lightloom.replay.workload.call_queue import ServedCall
    from lightloom.training.circuit_controllers import ControllerTime
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.training_plan import TrainingRequest


@dataclass(frozen=True, eq=False)
class RecordedReplay:
    """When everything in a recorded iteration happens.

    `fabric`: with the times of its controller. `iteration`: what was replayed, with the
    relays that the fabric needs. `circuits`: how they were set: one of `CircuitMode`
    but ``auto``. `demand`: bytes of each pair of nodes. `calls`: where circuits were
    set for each call: every schedule that ran. `controller`: what the controller cost,
    where circuits followed the traffic.
    """

    fabric: AnyFabric
    iteration: Iteration
    circuits: CircuitMode
    timeline: IterationTimeline
    demand: Demand
    calls: tuple[ServedCall, ...] = ()
    controller: ControllerTime | None = None

    @property
    def reconfigurations(self) -> int:
        """How often a plane was set anew in the iteration."""
        if self.circuits != "per-call":
            return len(self.timeline.reconfigurations)
        return settings(self.calls)


def replay_recorded(
    iteration: Iteration, fabric: AnyFabric, request: TrainingRequest, seed: int = 0
) -> RecordedReplay:
    """Return the fastest replay of an iteration over the ways to set circuits.

    What goes between nodes that no circuit joins is passed on by others; see `relayed`
    and `RelayedRings`.

    Raises `InputError`: more devices than nodes, or a way to set circuits that the
    fabric lacks; `InfeasibleError, NoAnswerError`: no way serves the iteration.
    """
    if iteration.device_count > fabric.node_count:
        raise InputError(
            "more devices than nodes",
            where="devices",
            found=iteration.device_count,
            allowed=f"at most {fabric.node_count}",
            fix="use a larger fabric",
        )
    fabric = with_control(fabric, request)
    iteration = relayed(iteration, fabric)
    found: list[RecordedReplay] = []
    failed: InfeasibleError | NoAnswerError | None = None
    for way in modes(fabric, request.circuits, request.controlled_by):
        try:
            found.append(_replayed(iteration, fabric, request, way, seed))
        except (InfeasibleError, NoAnswerError) as problem:
            failed = failed or problem
    if not found:
        assert failed is not None
        raise failed
    return min(found, key=lambda one: one.timeline.iteration_ps)


def _replayed(
    iteration: Iteration,
    fabric: AnyFabric,
    request: TrainingRequest,
    way: CircuitMode,
    seed: int,
) -> RecordedReplay:
    if way == "per-call":
        schedules = CallSchedules(fabric, request.collectives, seed)
        calls = ScheduledCalls(schedules.asked(iteration, alone))
        queue = KeptQueue(CallQueue(calls))
        timeline = replay_iteration(iteration, queue, request.launch)
        moved = calls_demand(queue.served)
        return RecordedReplay(fabric, iteration, way, timeline, moved, queue.served)
    collectives = RelayedRings(fabric, RingCollectives(step_ps(fabric)))
    kept = kept_replay(iteration, fabric, collectives, way, request)
    return RecordedReplay(
        *(fabric, iteration, kept.circuits, kept.timeline, kept.demand),
        controller=kept.controller,
    )
