"""Plans a training: strategies are cut, placed, estimated, and the best replayed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import step_ps
from lightloom.core.seed import checked_seed
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.replay.workload import replay_iteration
from lightloom.training.call_networks import (
    KeptQueue,
    call_layout,
    call_queue,
    calls_demand,
    few_replicas,
    with_control,
)
from lightloom.training.call_schedules import CallSchedules
from lightloom.training.fabric_networks import (
    estimated_circuits,
    modes,
    ports_of,
)
from lightloom.training.iteration import training_iteration
from lightloom.training.iteration_estimate import LinkLoads, replica_profile
from lightloom.training.kept_replay import kept_replay
from lightloom.training.node_layout import layout
from lightloom.training.nothing_fits import nothing_fits
from lightloom.training.placement.graph_split import QUANTUM_PS
from lightloom.training.replay_order import ReplayOrder
from lightloom.training.replica import place_replica, smallest_fit
from lightloom.training.strategy import strategies
from lightloom.training.strategy_bounds import StrategyBounds
from lightloom.training.training_plan import TrainingPlan, TrainingRequest, Tried

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.iteration_estimate import ReplicaProfile
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy

__all__ = ["Planner"]

_MOST_WORK = 40_000
"""Parts of replicas that are placed, and estimated, for one fabric."""
_TURNS = 4
"""Turns by which strategies come later whose replicas have twice as many devices."""
_TOO_FEW = "the memory of so few devices does not hold a replica"
_LEAST_WORK = 100
"""What an estimate takes beside its parts, in parts."""
_CALL_ROUNDS = 4
"""Rounds of a sum that estimates reckon with where circuits are set for it."""


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
    _schedules: dict[tuple[AnyFabric, str], CallSchedules] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a seed that is none."""
        self.seed = checked_seed(self.seed)
        self._bounds = StrategyBounds(self.training)

    def plan(
        self, fabric: AnyFabric, request: TrainingRequest | None = None
    ) -> TrainingPlan:
        """Return the best strategy found for a fabric.

        Strategies are bounded from below, cut, placed and estimated, as far as the
        work allowed goes. Those of the best estimates are replayed, unless their bound
        rules them out, and the fastest of them is taken.

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
        fabric = with_control(fabric, request)
        ways = modes(fabric, request.circuits, request.controlled_by)
        tried = self._all_estimated(fabric, request, ways)
        order = ReplayOrder(request, tried.values())
        best: TrainingPlan | None = None
        for _ in range(request.replayed):
            while (each := order.next()) is not None:
                self.tell(f"replaying {each.strategy}")
                try:
                    plan = self._replayed(fabric, each.strategy, request, ways)
                except (InfeasibleError, NoAnswerError) as problem:
                    why = str(problem)
                    tried[each.strategy] = replace(each, estimate_ps=None, why=why)
                    continue
                tried[each.strategy] = replace(each, iteration_ps=plan.iteration_ps)
                if order.replayed(tried[each.strategy]):
                    best = plan
                break
        if best is None:
            ports = None if ways == ("per-call",) else ports_of(fabric)
            raise nothing_fits(self.training, ports, list(tried.values()))
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
        self,
        fabric: AnyFabric,
        request: TrainingRequest,
        ways: tuple[CircuitMode, ...],
    ) -> dict[Strategy, Tried]:
        """Return strategies with their bounds, and estimates as far as work allows.

        Of each number of devices a replica those of the least bounds come first, and
        numbers twice as large some turns later; work goes on until something runs.
        """
        count = fabric.node_count if request.nodes is None else len(request.nodes)
        batches = tuple(request.iterations or (self.training.batch_size,))
        rows: dict[int, list[Tried]] = {}
        for each in strategies(
            count,
            batches,
            request.model_parallel,
            request.replicas,
            request.most_model_parallel,
            powers=request.powers_of_two,
        ):
            bound_ps = self._bounds.iteration_ps(each, fabric.node_bits_per_s)
            found = Tried(each, None, bound_ps=bound_ps)
            rows.setdefault(each.model_parallel, []).append(found)
        queue = []
        for k, same in rows.items():
            same.sort(key=lambda each: (request.least_cost(each), each.strategy))
            later = _TURNS * k.bit_length()
            queue += [(later + turn, k, turn) for turn in range(len(same))]
        tried: dict[Strategy, Tried] = {}
        seen: set[tuple[int, int]] = set()
        work, runs = 0, False
        floor: int | None = None
        for _, k, turn in sorted(queue):
            bounded = rows[k][turn]
            if runs and work >= _MOST_WORK:
                break
            if floor is not None and k < floor and tried:
                tried[bounded.strategy] = replace(bounded, why=_TOO_FEW)
                continue
            found = self._estimated(fabric, bounded, request, ways)
            tried[bounded.strategy] = found
            runs = runs or found.estimate_ps is not None
            key = bounded.strategy.model_parallel, bounded.strategy.local_batch
            work += _LEAST_WORK + (0 if key in seen else self._parts(key))
            seen.add(key)
            if not runs and floor is None:
                floor = self._fewest_devices(rows)
        return dict(sorted(tried.items()))

    def _fewest_devices(self, rows: Mapping[int, Sequence[Tried]]) -> int:
        """Return a number of devices below which no replica fits their memory.

        Half of the fewest that would do, as what fits is not quite monotone.
        """
        local = min(
            each.strategy.local_batch for same in rows.values() for each in same
        )
        fewest = smallest_fit(self.training, local, None)
        return max(rows) + 1 if fewest is None else fewest // 2

    def _parts(self, key: tuple[int, int]) -> int:
        """Return how many parts replicas of so many devices and samples have."""
        placed = [one for kept, one in self._placed.items() if kept[:2] == key]
        parts = [len(one.device) for one in placed if not isinstance(one, str)]
        return max(parts, default=0)

    def _estimated(
        self,
        fabric: AnyFabric,
        tried: Tried,
        request: TrainingRequest,
        ways: tuple[CircuitMode, ...],
    ) -> Tried:
        """Return a strategy with its least estimate, or why it cannot be run."""
        estimates, why = [], ""
        for way in ways:
            try:
                estimates.append(self._estimate_ps(fabric, tried, request, way))
            except (InfeasibleError, NoAnswerError) as problem:
                why = why or str(problem)
        if not estimates:
            return replace(tried, why=why)
        return replace(tried, estimate_ps=round(min(estimates)))

    def _estimate_ps(
        self,
        fabric: AnyFabric,
        tried: Tried,
        request: TrainingRequest,
        way: CircuitMode,
    ) -> float:
        """Return about how long an iteration takes with circuits set in one way."""
        strategy = tried.strategy
        called = way == "per-call"
        replica = self.replica(strategy, None if called else ports_of(fabric))
        profile = self._profile(replica)
        if called:
            laid = call_layout(fabric, strategy, request.nodes)
            alike = few_replicas(laid, whole=False)
            ideal = IdealSwitch(
                nodes=fabric.node_count,
                bits_per_second_per_node=max(1, fabric.node_bits_per_s),
                alpha_ps=step_ps(fabric),
            )
            links = LinkLoads(ideal, None)
            return links.iteration_ps(profile, alike, rounds=_CALL_ROUNDS)
        laid = layout(fabric, strategy, request.nodes, whole=request.whole)
        held = estimated_circuits(laid.fabric, profile.demand(laid))
        return LinkLoads(laid.fabric, held).iteration_ps(profile, laid)

    def _profile(self, replica: Replica) -> ReplicaProfile:
        key = id(replica)
        if key not in self._profiles:
            self._profiles[key] = replica_profile(replica)
        return self._profiles[key]

    def _replayed(
        self,
        fabric: AnyFabric,
        strategy: Strategy,
        request: TrainingRequest,
        ways: tuple[CircuitMode, ...],
    ) -> TrainingPlan:
        """Return a strategy with its fastest replay."""
        plans: list[TrainingPlan] = []
        failed: InfeasibleError | NoAnswerError | None = None
        for way in ways:
            replayed = self._called if way == "per-call" else self._kept
            try:
                plans.append(replayed(fabric, strategy, request, way))
            except (InfeasibleError, NoAnswerError) as problem:
                failed = failed or problem
        if not plans:
            assert failed is not None
            raise failed
        return min(plans, key=lambda plan: plan.iteration_ps)

    def _kept(
        self,
        fabric: AnyFabric,
        strategy: Strategy,
        request: TrainingRequest,
        way: CircuitMode,
    ) -> TrainingPlan:
        """Return the replay on circuits that stay, or follow traffic."""
        replica = self.replica(strategy, ports_of(fabric))
        laid = layout(fabric, strategy, request.nodes, whole=request.whole)
        iteration = training_iteration(
            replica, laid.nodes, laid.fabric.node_count, laid.replayed_rings
        )
        kept = kept_replay(iteration, laid.fabric, laid.collectives(), way, request)
        needed = request.iterations and request.iterations[strategy.batch_size]
        return TrainingPlan(
            *(strategy, replica, laid, iteration),
            *(kept.timeline, kept.demand, needed or None),
            circuits=kept.circuits,
            controller=kept.controller,
        )

    def _called(
        self,
        fabric: AnyFabric,
        strategy: Strategy,
        request: TrainingRequest,
        way: CircuitMode,
    ) -> TrainingPlan:
        """Return the replay on circuits that are set for each call."""
        replica = self.replica(strategy, None)
        laid = call_layout(fabric, strategy, request.nodes)
        few = few_replicas(laid, whole=request.whole)
        iteration = training_iteration(
            replica, few.nodes, fabric.node_count, (len(few.nodes),)
        )
        key = fabric, request.collectives
        if key not in self._schedules:
            self._schedules[key] = CallSchedules(*key, self.seed)
        queue = call_queue(iteration, self._schedules[key], laid.nodes, len(few.nodes))
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
