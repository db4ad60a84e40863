"""Replays of strategies with circuits set in each way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import PacketFabric, Usage
from lightloom.core.task import Demand
from lightloom.replay.workload import SharedLinks, replay_iteration
from lightloom.replay.workload.call_queue import alone
from lightloom.training.call_schedules import AllReplicas, CallSchedules, few_replicas
from lightloom.training.fabric_networks import circuit_rates, kept_circuits
from lightloom.training.iteration import traffic, training_iteration
from lightloom.training.node_layout import AlikeReplicas, NodeLayout
from lightloom.training.replayed_iteration import (
    called_replay,
    kept_replay,
    refining_rounds,
)
from lightloom.training.training_plan import ReplayedIteration, TrainingPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric, FabricTable
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload import Launch
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.prospects import Prospects
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy
    from lightloom.training.training_plan import Tried


@dataclass(frozen=True, eq=False)
class StrategyReplays:
    """Replays strategies on one fabric.

    `prospects`: the fabric, what is asked, and where replicas come from. `schedules`:
    those of calls, by fabric and algorithm; more are added.
    """

    prospects: Prospects
    schedules: dict[tuple[AnyFabric, str], CallSchedules]

    def fastest(
        self,
        due: Tried,
        bounds: Mapping[CircuitMode, int],
        rules_out: Callable[[Tried], bool],
    ) -> TrainingPlan:
        """Return a strategy with its fastest replay.

        A way whose bound is no less than a replay of another way, or the best so far
        (`rules_out`), is left out.

        Raises `InfeasibleError, NoAnswerError`: no way serves it.
        """
        plans: list[TrainingPlan] = []
        failed: InfeasibleError | NoAnswerError | None = None
        for way, bound_ps in bounds.items():
            if any(plan.iteration_ps <= bound_ps for plan in plans):
                continue
            if rules_out(replace(due, bound_ps=bound_ps)):
                continue
            try:
                plans.append(self._replayed(due.strategy, way))
            except (InfeasibleError, NoAnswerError) as problem:
                failed = failed or problem
        if not plans:
            assert failed is not None
            raise failed
        return min(plans, key=lambda plan: plan.iteration_ps)

    def _replayed(self, strategy: Strategy, way: CircuitMode) -> TrainingPlan:
        """Return the replay of a strategy with circuits set in one way."""
        request = self.prospects.request
        replica, layout = self.prospects.run(strategy, way)
        if way == "per-call":
            layout, replay = self._called(replica, layout)
        elif (alike := self._alike(replica, layout, way)) is not None:
            layout, replay = alike
        else:
            iteration = training_iteration(
                replica, layout.nodes, layout.fabric.node_count, layout.replayed_rings
            )
            collectives = layout.collectives()
            replay = kept_replay(iteration, layout.fabric, collectives, way, request)
        needed = request.iterations and request.iterations[strategy.batch_size]
        return TrainingPlan(
            **vars(replay),
            strategy=strategy,
            replica=replica,
            layout=layout,
            iterations=needed or None,
        )

    def _called(
        self, replica: Replica, layout: NodeLayout
    ) -> tuple[NodeLayout, ReplayedIteration]:
        """Return the replay on circuits that are set for each call, and of whom."""
        request, fabric = self.prospects.request, self.prospects.fabric
        few = few_replicas(layout, whole=request.whole)
        iteration = training_iteration(replica, few.nodes, fabric.node_count)
        key = fabric, request.collectives
        if key not in self.schedules:
            self.schedules[key] = CallSchedules(*key, self.prospects.replicas.seed)
        every = (
            AllReplicas(layout.nodes) if len(few.nodes) < len(layout.nodes) else alone
        )
        schedules = self.schedules[key]
        return few, called_replay(iteration, schedules, request.launch, every)

    def _alike(
        self, replica: Replica, layout: NodeLayout, way: CircuitMode
    ) -> tuple[NodeLayout, ReplayedIteration] | None:
        """Return two replicas for all, where they are alike and nothing is refined."""
        request, fabric = self.prospects.request, layout.fabric
        if isinstance(fabric, PacketFabric) or not layout.is_whole:
            return None
        if request.whole or request.nodes is not None:
            return None
        tasks = 2 * len(replica.device) * len(layout.nodes)
        few = way == "critical-path" and refining_rounds(request, tasks) > 0
        if few or way == "controlled":
            return None
        return two_for_all(fabric, replica, layout, request.launch)


def two_for_all(
    fabric: CircuitFabric,
    replica: Replica,
    layout: NodeLayout,
    launch: Launch | None,
) -> tuple[NodeLayout, ReplayedIteration] | None:
    """Return two replicas that do what all do at the same times, ``None`` if none do.

    A circuit that stays serves its pair and nobody else. So replicas in one ring differ
    only where the rates of their pairs do: within a replica, and to the next one. The
    second sends to the first what it truly sends to the third.

    Raises `InfeasibleError, NoAnswerError`: there are no circuits for the traffic.
    """
    nodes = np.array(layout.nodes, dtype=np.int64)
    if len(nodes) < 3 or len([ring for ring in layout.rings if ring > 1]) != 1:
        return None
    count = fabric.node_count
    few = NodeLayout(fabric, layout.nodes[:2], layout.rings)
    iteration = training_iteration(replica, few.nodes, count, (2,))
    model = AlikeReplicas(fabric.alpha_ps, layout.replicas)
    sent = traffic(iteration, model)
    device = np.zeros(count, dtype=np.int64)
    device[nodes[:2]] = np.arange(nodes.shape[1])
    src, dst, size = np.array([sent.src, sent.dst, sent.bytes], dtype=np.int64)
    first = np.isin(src, nodes[0])
    src, dst, size = src[first], dst[first], size[first]
    leaves = ~np.isin(dst, nodes[0])
    after = np.roll(nodes, -1, axis=0)
    ends = np.where(leaves, after[:, device[dst]], nodes[:, device[dst]])
    keys = nodes[:, device[src]] * count + ends
    sizes = np.broadcast_to(size, keys.shape)
    order = np.argsort(keys, axis=None)
    pairs = keys.ravel()[order]
    demand = Demand(
        tuple((pairs // count).tolist()),
        tuple((pairs % count).tolist()),
        tuple(sizes.ravel()[order].tolist()),
    )
    held = kept_circuits(fabric).lasting(fabric, demand)
    rate_of = circuit_rates(fabric, held)
    rates = np.array([rate_of.get(key, 0) for key in keys.ravel().tolist()])
    rates = rates.reshape(keys.shape)
    if not rates.all() or (rates != rates[0]).any():
        return None
    # The second replica has the rates of the first, and sends back along the ring.
    back = np.where(leaves, nodes[0][device[dst]], nodes[1][device[dst]])
    second = nodes[1][device[src]] * count + back
    links = _PairLinks(
        count,
        fabric.alpha_ps,
        fabric.node_bits_per_s,
        {
            **dict(zip(keys[0].tolist(), rates[0].tolist(), strict=True)),
            **dict(zip(second.tolist(), rates[0].tolist(), strict=True)),
        },
    )
    timeline = replay_iteration(iteration, SharedLinks(links, model), launch)
    return few, ReplayedIteration(fabric, iteration, "one-shot", timeline, demand)


@dataclass(frozen=True, eq=False)
class _PairLinks:
    """A packet network in which each pair has a link of its own."""

    node_count: int
    alpha_ps: int
    node_bits_per_s: int
    rates: dict[int, int]
    kind: str = "pairs"
    latency_ps: int = 0

    def table(self) -> FabricTable:
        return {"kind": self.kind, "nodes": self.node_count}

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        rows = np.arange(len(src), dtype=np.int64)
        return Usage(rows, src * self.node_count + dst, np.ones_like(rows))

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        return np.array([self.rates[key] for key in links.tolist()], dtype=np.int64)

    def resource_name(self, resource: int) -> str:
        src, dst = divmod(resource, self.node_count)
        return f"circuit {src} -> {dst}"
