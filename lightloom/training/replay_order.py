"""The order in which strategies are replayed: least expected cost first."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.training.training_plan import TrainingRequest, Tried


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
        self._waiting = [each for each in self._waiting if not self.rules_out(each)]
        if not self._waiting:
            return None
        due = min(self._waiting, key=lambda each: (self._expected(each), each.strategy))
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
