"""Plans a training: strategies are cut, placed, estimated, and the best replayed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.seed import checked_seed
from lightloom.replay.workload import replay_iteration
from lightloom.training.fabric_networks import (
    estimated_circuits,
    network_for,
    ports_of,
)
from lightloom.training.iteration import training_iteration
from lightloom.training.iteration_estimate import LinkLoads, replica_profile
from lightloom.training.iteration_traffic import traffic
from lightloom.training.node_layout import layout
from lightloom.training.placement.graph_split import QUANTUM_PS
from lightloom.training.replica import place_replica, smallest_fit
from lightloom.training.strategy import strategies
from lightloom.training.training_plan import TrainingPlan, TrainingRequest, Tried

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.iteration_estimate import ReplicaProfile
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy

__all__ = ["Planner"]

_USUAL = 16
"""Devices of a replica that are tried first, at most."""
_REASONS = 3
"""Reasons told, at most, why nothing can be run."""


@dataclass(eq=False)
class Planner:
    """Finds strategies for one training, on as many fabrics as one likes.

    Placements do not depend on the rates of a fabric and are kept.

    Attributes
    ----------
    training
        The model, batch and GPU.
    quantum_ps
        Time that parts aim at (SiP-ML, section 3.2).
    seed
        Of placements; same arguments, same plan.
    tell
        Told in words what is being done.
    """

    training: Training
    quantum_ps: int = QUANTUM_PS
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda _: None)
    _placed: dict[tuple[int, int, int | None], Replica | str] = field(
        default_factory=dict
    )
    _profiles: dict[int, ReplicaProfile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a seed that is none."""
        self.seed = checked_seed(self.seed)

    def plan(
        self, fabric: AnyFabric, request: TrainingRequest | None = None
    ) -> TrainingPlan:
        """Return the best strategy found for a fabric.

        Every strategy is cut, placed, given circuits and estimated; those of the best
        estimates are replayed, and the fastest of them is taken.

        Parameters
        ----------
        fabric
            The interconnect; of one with circuits a kind whose circuits a training
            can set.
        request
            What is asked beside model and fabric; the defaults of `TrainingRequest`
            where ``None``.

        Raises
        ------
        InputError
            More devices asked for than there are, no batch that divides, a fabric
            whose circuits nobody sets.
        InfeasibleError
            No strategy can be run; says why, and how many devices would do where it
            is the memory.
        """
        request = request or TrainingRequest()
        ports_of(fabric)
        tried = self._all_estimated(fabric, request)
        plans: list[TrainingPlan] = []
        for each in sorted(
            (each for each in tried.values() if each.estimate_ps is not None),
            key=lambda each: (request.cost(each), each.strategy),
        ):
            if len(plans) == request.replayed:
                break
            self.tell(f"replaying {each.strategy}")
            try:
                plan = self._replayed(fabric, each.strategy, request)
            except (InfeasibleError, NoAnswerError) as problem:
                tried[each.strategy] = replace(each, estimate_ps=None, why=str(problem))
                continue
            tried[each.strategy] = replace(each, iteration_ps=plan.iteration_ps)
            plans.append(plan)
        if not plans:
            raise self._nothing_fits(fabric, list(tried.values()))
        best = min(plans, key=lambda plan: request.cost(tried[plan.strategy]))
        return replace(best, tried=tuple(tried.values()))

    def replica(self, strategy: Strategy, ports: int | None) -> Replica:
        """Return the placed replica of a strategy.

        Parameters
        ----------
        strategy
            Devices of a replica and samples on each.
        ports
            How many others a device can reach at once, ``None`` for all.

        Raises
        ------
        InfeasibleError
            It does not fit the memory, or the ports.
        """
        k, local = strategy.model_parallel, strategy.local_batch
        # Up to as many devices as there are ports, ports make no difference.
        binding = ports if ports is not None and k > ports else None
        key = k, local, binding
        if key not in self._placed:
            self.tell(f"placing {k} devices, {local} samples a replica")
            try:
                self._placed[key] = place_replica(
                    self.training,
                    local,
                    k,
                    ports=binding,
                    quantum_ps=self.quantum_ps,
                    seed=self.seed,
                )
            except (InfeasibleError, NoAnswerError) as problem:
                self._placed[key] = str(problem)
        placed = self._placed[key]
        if isinstance(placed, str):
            raise InfeasibleError(placed)
        return placed

    def _all_estimated(
        self, fabric: AnyFabric, request: TrainingRequest
    ) -> dict[Strategy, Tried]:
        """Return strategies with their estimates.

        Replicas of very many devices are left out, unless no smaller ones can be run.
        """
        count = fabric.node_count if request.nodes is None else len(request.nodes)
        batches = tuple(request.iterations or (self.training.batch_size,))
        tried: dict[Strategy, Tried] = {}
        for most in (
            request.most_model_parallel or _USUAL,
            request.most_model_parallel,
        ):
            asked = (count, batches, request.model_parallel, request.replicas, most)
            for each in strategies(*asked):
                if each not in tried:
                    tried[each] = self._estimated(fabric, each, request)
            if any(each.estimate_ps is not None for each in tried.values()):
                break
        return dict(sorted(tried.items()))

    def _estimated(
        self, fabric: AnyFabric, strategy: Strategy, request: TrainingRequest
    ) -> Tried:
        """Return a strategy with its estimate, or why it cannot be run."""
        try:
            laid = layout(fabric, strategy, request.nodes, whole=request.whole)
            replica = self.replica(strategy, ports_of(fabric))
            profile = self._profile(replica)
            held = estimated_circuits(laid.fabric, profile.demand(laid))
        except (InfeasibleError, NoAnswerError) as problem:
            return Tried(strategy, None, why=str(problem))
        links = LinkLoads(laid.fabric, held)
        return Tried(strategy, round(links.iteration_ps(profile, laid)))

    def _profile(self, replica: Replica) -> ReplicaProfile:
        key = id(replica)
        if key not in self._profiles:
            self._profiles[key] = replica_profile(replica)
        return self._profiles[key]

    def _replayed(
        self, fabric: AnyFabric, strategy: Strategy, request: TrainingRequest
    ) -> TrainingPlan:
        """Return a strategy with its replay."""
        replica = self.replica(strategy, ports_of(fabric))
        laid = layout(fabric, strategy, request.nodes, whole=request.whole)
        iteration = training_iteration(
            replica, laid.nodes, laid.fabric.node_count, laid.replayed_rings
        )
        collectives = laid.collectives()
        demand = traffic(iteration, collectives)
        network = network_for(
            laid.fabric, demand, collectives, request.circuits, request.period_ps
        )
        timeline = replay_iteration(iteration, network, request.launch)
        needed = request.iterations and request.iterations[strategy.batch_size]
        return TrainingPlan(
            strategy, replica, laid, iteration, timeline, demand, needed or None
        )

    def _nothing_fits(self, fabric: AnyFabric, tried: list[Tried]) -> InfeasibleError:
        """Return why no strategy can be run."""
        name = self.training.model or self.training.onnx
        local = min(each.strategy.local_batch for each in tried)
        samples = f"{local} sample{'s' if local > 1 else ''}"
        fewest = smallest_fit(self.training, local, ports_of(fabric))
        most = max(each.strategy.model_parallel for each in tried)
        if fewest is not None and fewest > most:
            return InfeasibleError(
                f"{name} fits the memory of {self.training.gpu} at no split tried",
                where="model_parallel",
                found=f"at most {most} devices a replica",
                allowed=f"{fewest} devices or more, {samples} a replica",
                fix="let more devices share the model, or use a GPU with more memory",
            )
        first: dict[str, Strategy] = {}
        for each in sorted(tried, key=_devices):
            first.setdefault(each.why, each.strategy)
        shown = list(first.items())[:_REASONS]
        reasons = "; ".join(
            f"{shared.model_parallel} x {shared.replicas} devices: {why}"
            for why, shared in shown
        )
        what = f"no strategy tried can be run: {reasons}"
        fix = "ask for other numbers of devices and replicas, or another fabric"
        if fewest is not None and all("memory" in why for why in first):
            fix = f"{fewest} devices hold a replica of {samples}: use so many for each"
            fix += ", on a larger fabric, or a smaller batch"
        return InfeasibleError(what, where=str(name), fix=fix)


def _devices(tried: Tried) -> tuple[int, int, int]:
    shared = tried.strategy
    return shared.model_parallel, shared.replicas, shared.batch_size
