"""The search among the strategies of a training: least bounds, least estimates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.training.replay_order import ReplayOrder
from lightloom.training.replica import smallest_fit
from lightloom.training.strategy import strategies
from lightloom.training.training_plan import Tried

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.training.strategy import Strategy
    from lightloom.training.strategy_bounds import StrategyBounds
    from lightloom.training.strategy_prospects import StrategyProspects
    from lightloom.training.strategy_replays import StrategyReplays
    from lightloom.training.training_plan import TrainingPlan

_MOST_WORK = 40_000
"""Parts of replicas that are placed, and estimated, for one fabric."""
_TURNS = 4
"""Turns by which strategies come later whose replicas have twice as many devices."""
_EARLY = 24
"""Estimates behind which the best so far is replayed, beside those that were asked
for: it rules others out."""
_TOO_FEW = "the memory of so few devices does not hold a replica"
_RULED_OUT = "no faster than the chosen one, by its bound"
_LEAST_WORK = 100
"""What an estimate takes beside its parts, in parts."""


class StrategySearch:
    """A search for the fastest strategy on one fabric.

    `tell`: told in words what is being done.
    """

    def __init__(
        self,
        prospects: StrategyProspects,
        replays: StrategyReplays,
        tell: Callable[[str], None],
    ) -> None:
        self.tried: dict[Strategy, Tried] = {}
        self._prospects, self._replays, self._tell = prospects, replays, tell
        self._order = ReplayOrder(prospects.request)
        self._best: TrainingPlan | None = None

    def fastest(self, known: StrategyBounds) -> TrainingPlan | None:
        """Return the fastest plan that was replayed, ``None`` if nothing can be run."""
        self._look(known)
        for _ in range(self._prospects.request.replayed):
            self._replay_next()
        return self._best

    def _look(self, known: StrategyBounds) -> None:
        """Bound strategies, and estimate them as far as work allows.

        Of each number of devices a replica those of the least bounds come first, and
        numbers twice as large some turns later; work goes on until something runs.
        """
        rows, replicas = self._rows(known), self._prospects.replicas
        queue = sorted(
            (_TURNS * k.bit_length() + turn, k, turn)
            for k, same in rows.items()
            for turn in range(len(same))
        )
        seen: set[tuple[int, int]] = set()
        work = runs = 0
        floor: int | None = None
        for _, k, turn in queue:
            bounded = rows[k][turn]
            if runs and work >= _MOST_WORK:
                break
            if self._order.rules_out(bounded):
                continue
            if floor is not None and k < floor and self.tried:
                self.tried[bounded.strategy] = replace(bounded, why=_TOO_FEW)
                continue
            runs += self._estimate(bounded)
            key = k, bounded.strategy.local_batch
            work += _LEAST_WORK + (0 if key in seen else replicas.parts(*key))
            seen.add(key)
            if not runs and floor is None:
                floor = self._fewest_devices(rows)
            if runs == _EARLY and self._prospects.request.replayed > 1:
                self._replay_next()

    def _rows(self, known: StrategyBounds) -> dict[int, list[Tried]]:
        """Return strategies by devices of a replica, those of least bounds first."""
        prospects = self._prospects
        fabric, request = prospects.fabric, prospects.request
        count = fabric.node_count if request.nodes is None else len(request.nodes)
        batches = tuple(request.iterations or (known.training.batch_size,))
        rows: dict[int, list[Tried]] = {}
        for each in strategies(
            count,
            batches,
            request.model_parallel,
            request.replicas,
            request.most_model_parallel,
            powers=request.powers_of_two,
        ):
            bound_ps = known.iteration_ps(each, fabric.node_bits_per_s)
            found = Tried(each, None, bound_ps=bound_ps)
            rows.setdefault(each.model_parallel, []).append(found)
        for same in rows.values():
            same.sort(key=lambda each: (request.least_cost(each), each.strategy))
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
        found = self._prospects.estimated(bounded)
        self.tried[found.strategy] = found
        if found.estimate_ps is None:
            return False
        self._order.add(found)
        return True

    def _replay_next(self) -> None:
        """Replay the strategy that is due, unless all that wait are ruled out."""
        prospects, order = self._prospects, self._order
        while (due := order.next()) is not None:
            bounds = prospects.by_links(due, prospects.bounds(due), order)
            due = replace(due, bound_ps=min(bounds.values(), default=due.bound_ps))
            self.tried[due.strategy] = due
            if order.rules_out(due):
                continue
            self._tell(f"replaying {due.strategy}")
            try:
                plan = self._replays.fastest(due, bounds, order)
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
            each.strategy.local_batch for same in rows.values() for each in same
        )
        fewest = smallest_fit(self._prospects.replicas.training, local, None)
        return max(rows) + 1 if fewest is None else fewest // 2
