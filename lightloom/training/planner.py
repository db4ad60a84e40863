"""Plans a training: strategies are cut, placed, estimated, and the best replayed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lightloom.core.seed import checked_seed
from lightloom.replay.workload import Launch
from lightloom.training.call_networks import with_control
from lightloom.training.fabric_networks import modes, ports_of
from lightloom.training.nothing_fits import nothing_fits
from lightloom.training.placed_bounds import PlacedBounds
from lightloom.training.placed_replicas import PlacedReplicas
from lightloom.training.placement.graph_split import QUANTUM_PS
from lightloom.training.strategy_bounds import StrategyBounds
from lightloom.training.strategy_prospects import StrategyProspects
from lightloom.training.strategy_replays import StrategyReplays
from lightloom.training.strategy_search import StrategySearch
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.training import Training
    from lightloom.instances.instance import AnyFabric
    from lightloom.training.call_schedules import CallSchedules
    from lightloom.training.training_plan import TrainingPlan


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
    _bounds: dict[Launch, tuple[StrategyBounds, PlacedBounds]] = field(
        default_factory=dict
    )
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
            bounds = StrategyBounds(self.training, launch), PlacedBounds(launch)
            self._bounds[launch] = bounds
        known, placed = self._bounds[launch]
        prospects = StrategyProspects(fabric, request, ways, self.replicas, placed)
        search = StrategySearch(
            prospects, StrategyReplays(prospects, self._schedules), self.tell
        )
        best = search.fastest(known)
        tried = tuple(each for _, each in sorted(search.tried.items()))
        if best is None:
            ports = None if ways == ("per-call",) else ports_of(fabric)
            raise nothing_fits(self.training, ports, tried)
        return replace(best, tried=tried)
