"""Replays of strategies with circuits set in each way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import PacketFabric
from lightloom.replay.workload import replay_iteration
from lightloom.training.alike_replicas import two_for_all
from lightloom.training.call_networks import (
    KeptQueue,
    call_queue,
    calls_demand,
    few_replicas,
)
from lightloom.training.call_schedules import CallSchedules
from lightloom.training.iteration import training_iteration
from lightloom.training.kept_replay import kept_replay, refining_rounds
from lightloom.training.training_plan import TrainingPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.instance import AnyFabric
    from lightloom.training.alike_replicas import TwoForAll
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.node_layout import NodeLayout
    from lightloom.training.replay_order import ReplayOrder
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy
    from lightloom.training.strategy_prospects import StrategyProspects
    from lightloom.training.training_plan import Tried


@dataclass(frozen=True, eq=False)
class StrategyReplays:
    """Replays strategies on one fabric.

    `prospects`: the fabric, what is asked, and where replicas come from. `schedules`:
    those of calls, by fabric and algorithm; more are added.
    """

    prospects: StrategyProspects
    schedules: dict[tuple[AnyFabric, str], CallSchedules]

    def fastest(
        self, due: Tried, bounds: Mapping[CircuitMode, int], order: ReplayOrder
    ) -> TrainingPlan:
        """Return a strategy with its fastest replay.

        A way whose bound is no less than a replay of another way, or the best so far,
        is left out.

        Raises `InfeasibleError, NoAnswerError`: no way serves it.
        """
        plans: list[TrainingPlan] = []
        failed: InfeasibleError | NoAnswerError | None = None
        for way, bound_ps in bounds.items():
            if any(plan.iteration_ps <= bound_ps for plan in plans):
                continue
            if order.rules_out(replace(due, bound_ps=bound_ps)):
                continue
            replayed = self._called if way == "per-call" else self._kept
            try:
                plans.append(replayed(due.strategy, way))
            except (InfeasibleError, NoAnswerError) as problem:
                failed = failed or problem
        if not plans:
            assert failed is not None
            raise failed
        return min(plans, key=lambda plan: plan.iteration_ps)

    def _kept(
        self,
        strategy: Strategy,
        way: CircuitMode,
    ) -> TrainingPlan:
        """Return the replay on circuits that stay, or follow traffic."""
        request = self.prospects.request
        replica, laid = self.prospects.run(strategy, way)
        needed = request.iterations and request.iterations[strategy.batch_size]
        alike = self._alike(replica, laid, way)
        if alike is not None:
            timeline = replay_iteration(alike.iteration, alike.network, request.launch)
            return TrainingPlan(
                *(strategy, replica, alike.layout, alike.iteration),
                *(timeline, alike.demand, needed or None),
            )
        iteration = training_iteration(
            replica, laid.nodes, laid.fabric.node_count, laid.replayed_rings
        )
        kept = kept_replay(iteration, laid.fabric, laid.collectives(), way, request)
        return TrainingPlan(
            *(strategy, replica, laid, iteration),
            *(kept.timeline, kept.demand, needed or None),
            circuits=kept.circuits,
            controller=kept.controller,
            held=kept.held,
        )

    def _alike(
        self, replica: Replica, laid: NodeLayout, way: CircuitMode
    ) -> TwoForAll | None:
        """Return two replicas for all, where they are alike and nothing is refined."""
        request, fabric = self.prospects.request, laid.fabric
        if isinstance(fabric, PacketFabric) or not laid.is_whole:
            return None
        if request.whole or request.nodes is not None:
            return None
        tasks = 2 * len(replica.device) * len(laid.nodes)
        few = way == "critical-path" and refining_rounds(request, tasks) > 0
        if few or way == "controlled":
            return None
        return two_for_all(fabric, replica, laid)

    def _called(
        self,
        strategy: Strategy,
        way: CircuitMode,
    ) -> TrainingPlan:
        """Return the replay on circuits that are set for each call."""
        request, fabric = self.prospects.request, self.prospects.fabric
        replica, laid = self.prospects.run(strategy, way)
        few = few_replicas(laid, whole=request.whole)
        iteration = training_iteration(
            replica, few.nodes, fabric.node_count, (len(few.nodes),)
        )
        key = fabric, request.collectives
        if key not in self.schedules:
            self.schedules[key] = CallSchedules(*key, self.prospects.replicas.seed)
        queue = call_queue(iteration, self.schedules[key], laid.nodes, len(few.nodes))
        network = KeptQueue(queue)
        timeline = replay_iteration(iteration, network, request.launch)
        needed = request.iterations and request.iterations[strategy.batch_size]
        calls = network.served
        return TrainingPlan(
            strategy,
            replica,
            few,
            iteration,
            timeline,
            calls_demand(calls),
            needed or None,
            circuits=way,
            calls=calls,
        )
