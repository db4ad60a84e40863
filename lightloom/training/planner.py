"""Plans a training: strategies are cut, placed, estimated, and the best replayed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import PacketFabric, Usage
from lightloom.core.seed import checked_seed
from lightloom.core.task import Demand
from lightloom.replay.workload import Launch, SharedLinks, replay_iteration
from lightloom.replay.workload.call_queue import alone
from lightloom.training.call_schedules import (
    AllReplicas,
    CallSchedules,
    few_replicas,
    with_control,
)
from lightloom.training.fabric_networks import (
    circuit_rates,
    kept_circuits,
    modes,
    ports_of,
)
from lightloom.training.iteration import traffic, training_iteration
from lightloom.training.limits import LIMITS
from lightloom.training.node_layout import AlikeReplicas, NodeLayout
from lightloom.training.placement.graph_split import QUANTUM_PS
from lightloom.training.prospects import IterationBounds, Prospects
from lightloom.training.replayed_iteration import (
    called_replay,
    kept_replay,
    refining_rounds,
)
from lightloom.training.replica import PlacedReplicas, smallest_fit
from lightloom.training.strategy import strategies
from lightloom.training.training_plan import (
    ReplayedIteration,
    TrainingPlan,
    TrainingRequest,
    Tried,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric, FabricTable
    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.replica import Replica
    from lightloom.training.strategy import Strategy


@dataclass(eq=False)
class Planner:
    """Finds strategies for one training, on as many fabrics as one likes.

    Placements do not depend on the rates of a fabric and are kept.

    `training`: the model, batch and GPU. `quantum_ps`: time that parts aim at (SiP-ML,
    section 3.2). `seed`: of placements; same arguments, same plan. `tell`: told in
    words what is being done.
    """

    training: Training
    quantum_ps: int = QUANTUM_PS
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda _: None)
    replicas: PlacedReplicas = field(init=False)
    _bounds: dict[Launch, IterationBounds] = field(default_factory=dict)
    _schedules: dict[tuple[AnyFabric, str], CallSchedules] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a seed that is none."""
        self.seed = checked_seed(self.seed)
        self.replicas = PlacedReplicas(
            self.training, self.quantum_ps, self.seed, self.tell
        )

    def plan(
        self, fabric: AnyFabric, request: TrainingRequest | None = None
    ) -> TrainingPlan:
        """Return the best strategy found for a fabric.

        Strategies are bounded from below, cut, placed and estimated, as far as the
        work allowed goes. Those of the best estimates are replayed, unless a bound
        rules them out, and the fastest of them is taken. Where there are many, one is
        replayed early, so that bounds rule others out before they are placed.

        `request`: what is asked beside model and fabric; the defaults of
        `TrainingRequest` where ``None``.

        Raises `InputError`: more devices asked for than there are, no batch that
        divides, a fabric whose circuits nobody sets; `InfeasibleError`: no strategy can
        be run; says why, and how many devices would do where it is the memory.
        """
        request = request or TrainingRequest()
        fabric = with_control(fabric, request)
        ways = modes(fabric, request.circuits, request.controlled_by)
        launch = request.launch or Launch()
        if launch not in self._bounds:
            self._bounds[launch] = IterationBounds(self.training, launch)
        bounds = self._bounds[launch]
        prospects = Prospects(fabric, request, ways, self.replicas, bounds)
        search = StrategySearch(
            prospects, StrategyReplays(prospects, self._schedules), self.tell
        )
        best = search.fastest()
        tried = tuple(search.tried[strategy] for strategy in sorted(search.tried))
        if best is None:
            ports = None if ways == ("per-call",) else ports_of(fabric)
            raise nothing_fits(self.training, ports, tried)
        return replace(best, tried=tried)


_TOO_FEW = "the memory of so few devices does not hold a replica"
_RULED_OUT = "no faster than the chosen one, by its bound"


class StrategySearch:
    """A search for the fastest strategy on one fabric.

    `tell`: told in words what is being done.
    """

    def __init__(
        self,
        prospects: Prospects,
        replays: StrategyReplays,
        tell: Callable[[str], None],
    ) -> None:
        self.tried: dict[Strategy, Tried] = {}
        self._prospects, self._replays, self._tell = prospects, replays, tell
        self._order = ReplayOrder(prospects.request)
        self._best: TrainingPlan | None = None

    def fastest(self) -> TrainingPlan | None:
        """Return the fastest plan that was replayed, ``None`` if nothing can be run."""
        self._look()
        for _ in range(self._prospects.request.replayed):
            self._replay_next()
        return self._best

    def _look(self) -> None:
        """Bound strategies, and estimate them as far as work allows.

        Of each number of devices a replica those of the least bounds come first, and
        numbers twice as large some turns later; work goes on until something runs.
        """
        rows, replicas = self._rows(), self._prospects.replicas
        queue = sorted(
            (LIMITS.turns * k.bit_length() + turn, k, turn)
            for k, same in rows.items()
            for turn in range(len(same))
        )
        seen: set[tuple[int, int]] = set()
        work = runs = 0
        floor: int | None = None
        for _, k, turn in queue:
            bounded = rows[k][turn]
            if runs and work >= LIMITS.work:
                break
            if self._order.rules_out(bounded):
                continue
            if floor is not None and k < floor and self.tried:
                self.tried[bounded.strategy] = replace(bounded, why=_TOO_FEW)
                continue
            runs += self._estimate(bounded)
            key = k, bounded.strategy.local_batch
            work += LIMITS.estimate_work + (0 if key in seen else replicas.parts(*key))
            seen.add(key)
            if not runs and floor is None:
                floor = self._fewest_devices(rows)
            if runs == LIMITS.early and self._prospects.request.replayed > 1:
                self._replay_next()

    def _rows(self) -> dict[int, list[Tried]]:
        """Return strategies by devices of a replica, those of least bounds first."""
        prospects = self._prospects
        fabric, request = prospects.fabric, prospects.request
        count = fabric.node_count if request.nodes is None else len(request.nodes)
        batches = tuple(request.iterations or (prospects.replicas.training.batch_size,))
        rows: dict[int, list[Tried]] = {}
        for strategy in strategies(
            count,
            batches,
            request.model_parallel,
            request.replicas,
            request.most_model_parallel,
            powers=request.powers_of_two,
        ):
            bound_ps = prospects.least.strategy_ps(strategy, fabric.node_bits_per_s)
            bounded = Tried(strategy, None, bound_ps=bound_ps)
            rows.setdefault(strategy.model_parallel, []).append(bounded)
        for same in rows.values():
            same.sort(
                key=lambda bounded: (request.least_cost(bounded), bounded.strategy)
            )
        return rows

    def _estimate(self, bounded: Tried) -> bool:
        """Estimate a strategy, unless its bound rules it out; return if it can run."""
        if self._best is not None:
            bounds = self._prospects.bounds(bounded)
            least_ps = min(bounds.values(), default=bounded.bound_ps)
            bounded = replace(bounded, bound_ps=least_ps)
            if self._order.rules_out(bounded):
                self.tried[bounded.strategy] = replace(bounded, why=_RULED_OUT)
                return False
        estimated = self._prospects.estimated(bounded)
        self.tried[estimated.strategy] = estimated
        if estimated.estimate_ps is None:
            return False
        self._order.add(estimated)
        return True

    def _replay_next(self) -> None:
        """Replay the strategy that is due, unless all that wait are ruled out."""
        prospects, order = self._prospects, self._order
        while (due := order.next()) is not None:
            bounds = prospects.by_links(due, prospects.bounds(due), order.rules_out)
            due = replace(due, bound_ps=min(bounds.values(), default=due.bound_ps))
            self.tried[due.strategy] = due
            if order.rules_out(due):
                continue
            self._tell(f"replaying {due.strategy}")
            try:
                plan = self._replays.fastest(due, bounds, order.rules_out)
            except (InfeasibleError, NoAnswerError) as problem:
                why = str(problem)
                self.tried[due.strategy] = replace(due, estimate_ps=None, why=why)
                continue
            replayed = replace(due, iteration_ps=plan.iteration_ps)
            self.tried[due.strategy] = replayed
            if order.replayed(replayed):
                self._best = plan
            return

    def _fewest_devices(self, rows: dict[int, list[Tried]]) -> int:
        """Return a number of devices below which no replica fits their memory.

        Half of the fewest that would do, as what fits is not quite monotone.
        """
        local = min(
            bounded.strategy.local_batch for same in rows.values() for bounded in same
        )
        fewest = smallest_fit(self._prospects.replicas.training, local, None)
        return max(rows) + 1 if fewest is None else fewest // 2


class ReplayOrder:
    """Strategies in the order in which they are to be replayed.

    Estimates know nothing of how tasks wait for each other, and are too low most of
    all where devices share a model. What replays said of strategies with shared
    models, and of those without, so far corrects the estimates of the others: by the
    least ratio of replay to estimate. A strategy whose bound is no less than the best
    replay is never due.
    """

    def __init__(self, request: TrainingRequest) -> None:
        self._request = request
        self._waiting: list[Tried] = []
        self._ratio: dict[bool, Fraction] = {}
        self._least: int | None = None

    def add(self, tried: Tried) -> None:
        """Let a strategy wait for its replay."""
        self._waiting.append(tried)

    def next(self) -> Tried | None:
        """Return the strategy that is due, and take it out; ``None`` for none."""
        self._waiting = [
            waiting for waiting in self._waiting if not self.rules_out(waiting)
        ]
        if not self._waiting:
            return None
        due = min(
            self._waiting,
            key=lambda waiting: (self._expected(waiting), waiting.strategy),
        )
        self._waiting.remove(due)
        return due

    def rules_out(self, tried: Tried) -> bool:
        """Return whether a strategy is no faster than the best replay so far."""
        return self._least is not None and (
            self._request.least_cost(tried) >= self._least
        )

    def replayed(self, tried: Tried) -> bool:
        """Take note of a replay; return whether it is the best so far."""
        shared = tried.strategy.model_parallel > 1
        if tried.iteration_ps and tried.estimate_ps:
            ratio = Fraction(tried.iteration_ps, tried.estimate_ps)
            self._ratio[shared] = min(ratio, self._ratio.get(shared, ratio))
        cost = self._request.cost(tried)
        better = self._least is None or cost < self._least
        if better:
            self._least = cost
        return better

    def _expected(self, tried: Tried) -> Fraction:
        shared = tried.strategy.model_parallel > 1
        return self._request.cost(tried) * self._ratio.get(shared, Fraction(1))


_REASONS = 3
"""Reasons told, at most."""


def nothing_fits(
    training: Training, ports: int | None, tried: Sequence[Tried]
) -> InfeasibleError:
    """Return the error that says why, and how many devices hold a replica.

    `ports`: how many others a device can reach at once, ``None`` for all.
    """
    name = training.model or training.onnx
    local = min(option.strategy.local_batch for option in tried)
    samples = f"{local} sample{'s' if local > 1 else ''}"
    fewest = smallest_fit(training, local, ports)
    most = max(option.strategy.model_parallel for option in tried)
    if fewest is not None and fewest > most:
        return InfeasibleError(
            f"{name} fits the memory of {training.gpu} at no split tried",
            where="model_parallel",
            found=f"at most {most} devices a replica",
            allowed=f"{fewest} devices or more, {samples} a replica",
            fix="let more devices share the model, or use a GPU with more memory",
        )
    first: dict[str, Strategy] = {}
    for option in sorted(tried, key=_devices):
        first.setdefault(option.why, option.strategy)
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
