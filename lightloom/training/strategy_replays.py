"""Replays of strategies with circuits set in each way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import PacketFabric, Usage
from lightloom.core.task import Demand
from lightloom.replay.workload import SharedLinks, replay_iteration
from lightloom.training.call_schedules import (
    CallSchedules,
    KeptQueue,
    call_queue,
    calls_demand,
    few_replicas,
)
from lightloom.training.fabric_networks import kept_circuits
from lightloom.training.iteration import traffic, training_iteration
from lightloom.training.iteration_estimate import circuit_rates
from lightloom.training.kept_replay import kept_replay, refining_rounds
from lightloom.training.node_layout import AlikeReplicas, NodeLayout
from lightloom.training.training_plan import TrainingPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric, FabricTable
    from lightloom.core.iteration import Iteration
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.planner import ReplayOrder, StrategyProspects
    from lightloom.training.replica import Replica
    from lightloom.training.training_plan import Strategy, Tried


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


@dataclass(frozen=True, eq=False)
class TwoForAll:
    """Two replicas whose circuits have the rates that those of all have.

    `layout`: the first two replicas, on their nodes. `network`: the circuits of their
    pairs; the second sends to the first what it truly sends to the third. `demand`:
    bytes of each pair of all replicas.
    """

    layout: NodeLayout
    iteration: Iteration
    network: SharedLinks
    demand: Demand


def two_for_all(
    fabric: CircuitFabric, replica: Replica, laid: NodeLayout
) -> TwoForAll | None:
    """Return two replicas that do what all do at the same times, ``None`` if none do.

    A circuit that stays serves its pair and nobody else. So replicas in one ring differ
    only where the rates of their pairs do: within a replica, and to the next one.

    Raises `InfeasibleError, NoAnswerError`: there are no circuits for the traffic.
    """
    nodes = np.array(laid.nodes, dtype=np.int64)
    if len(nodes) < 3 or len([ring for ring in laid.rings if ring > 1]) != 1:
        return None
    count = fabric.node_count
    few = NodeLayout(fabric, laid.nodes[:2], laid.rings)
    iteration = training_iteration(replica, few.nodes, count, (2,))
    model = AlikeReplicas(fabric.alpha_ps, laid.replicas)
    one = traffic(iteration, model)
    device = np.zeros(count, dtype=np.int64)
    device[nodes[:2]] = np.arange(nodes.shape[1])
    src, dst, size = np.array([one.src, one.dst, one.bytes], dtype=np.int64)
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
    known = circuit_rates(fabric, held)
    rates = np.array([known.get(key, 0) for key in keys.ravel().tolist()])
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
    return TwoForAll(few, iteration, SharedLinks(links, model), demand)


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
