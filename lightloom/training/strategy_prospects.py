"""What is known of a strategy before it is replayed: bounds, and an estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.training.call_networks import call_layout, few_replicas
from lightloom.training.fabric_networks import estimated_circuits, ports_of
from lightloom.training.iteration_estimate import LinkLoads
from lightloom.training.node_layout import layout

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.node_layout import NodeLayout
    from lightloom.training.placed_bounds import PlacedBounds
    from lightloom.training.placed_replicas import PlacedReplicas
    from lightloom.training.replay_order import ReplayOrder
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy
    from lightloom.training.training_plan import TrainingRequest, Tried

_CALL_ROUNDS = 4
"""Rounds of a sum that estimates reckon with where circuits are set for it."""


@dataclass(frozen=True, eq=False)
class StrategyProspects:
    """Bounds and estimates of strategies on one fabric.

    `fabric`: the fabric, with the times of its controller. `ways`: how circuits may be
    set.
    """

    fabric: AnyFabric
    request: TrainingRequest
    ways: tuple[CircuitMode, ...]
    replicas: PlacedReplicas
    placed: PlacedBounds

    def bounds(self, tried: Tried) -> dict[CircuitMode, int]:
        """Return what no iteration is below, by the ways that can be run."""
        found: dict[CircuitMode, int] = {}
        fabric = self.fabric
        for way in self.ways:
            called = way == "per-call"
            try:
                replica, laid = self.run(tried.strategy, way)
            except (InfeasibleError, NoAnswerError):
                continue
            alpha_ps = fabric.alpha_ps if called else step_ps(fabric)
            bound_ps = self.placed.nodes_ps(
                replica, laid, fabric.node_bits_per_s, alpha_ps, rings=not called
            )
            found[way] = max(bound_ps, tried.bound_ps)
        return found

    def by_links(
        self, tried: Tried, bounds: dict[CircuitMode, int], order: ReplayOrder
    ) -> dict[CircuitMode, int]:
        """Return bounds that know the links of a packet network, where they matter."""
        if not isinstance(self.fabric, PacketFabric) or "per-call" in bounds:
            return bounds
        found = dict(bounds)
        for way, bound_ps in bounds.items():
            replica, laid = self.run(tried.strategy, way)
            for coarsely in (True, False):
                if order.rules_out(replace(tried, bound_ps=found[way])):
                    break
                links_ps = self.placed.links_ps(replica, laid, coarsely=coarsely)
                found[way] = max(bound_ps, links_ps)
        return found

    def estimated(self, tried: Tried) -> Tried:
        """Return a strategy with its least estimate, or why it cannot be run."""
        estimates, why = [], ""
        for way in self.ways:
            try:
                estimates.append(self._estimate_ps(tried.strategy, way))
            except (InfeasibleError, NoAnswerError) as problem:
                why = why or str(problem)
        if not estimates:
            return replace(tried, why=why)
        return replace(tried, estimate_ps=round(min(estimates)))

    def run(self, strategy: Strategy, way: CircuitMode) -> tuple[Replica, NodeLayout]:
        """Return the placed replica of a strategy, and where its copies are.

        `way`: how circuits are set; where they are set for each call, any two nodes can
        be joined.

        Raises `InputError, InfeasibleError`: it cannot be placed, see
        `PlacedReplicas.replica` and `layout`.
        """
        fabric, request = self.fabric, self.request
        if way == "per-call":
            replica = self.replicas.replica(strategy, None)
            return replica, call_layout(fabric, strategy, request.nodes)
        replica = self.replicas.replica(strategy, ports_of(fabric))
        return replica, layout(fabric, strategy, request.nodes, whole=request.whole)

    def _estimate_ps(self, strategy: Strategy, way: CircuitMode) -> float:
        """Return about how long an iteration takes with circuits set in one way."""
        fabric = self.fabric
        replica, laid = self.run(strategy, way)
        profile = self.replicas.profile(replica)
        if way == "per-call":
            alike = few_replicas(laid, whole=False)
            ideal = IdealSwitch(
                nodes=fabric.node_count,
                bits_per_second_per_node=max(1, fabric.node_bits_per_s),
                alpha_ps=step_ps(fabric),
            )
            links = LinkLoads(ideal, None)
            return links.iteration_ps(profile, alike, rounds=_CALL_ROUNDS)
        held = estimated_circuits(laid.fabric, profile.demand(laid))
        return LinkLoads(laid.fabric, held).iteration_ps(profile, laid)
