"""What slots hold and how long they last, made better in turn.

Durations are lowered towards a goal, pairs are moved among the slots until little is
lacking, and a linear program sets the durations of what the slots then hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.ocs.slot_program import best_durations

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.ocs.held_pairs import HeldPairs
    from lightloom.synth.ocs.slot_program import Durations

_TURNS, _TURNS_A_MATCHING = 12, 4
"""Most exchanges between two linear programs, and between two matchings."""
_LEAST_TURNS = 32
"""Exchanges that are worth a start."""
_FIRST, _LEAST = 0.01, 5e-4
"""By which share durations are lowered: at first, and at the least."""
_WIDER, _NARROWER = 1.5, 0.6
_TOWARDS_AIM = 0.1
"""Least share of the way to an aim."""
_MATCHED = 12
"""A matching of n lines takes as long as n / `_MATCHED` rows of each line."""
_CALL = 500
"""To look at few rows takes as long as so many."""
_GAIN = 1e-7


def worth_refining(slots: int, lines: int, work: int) -> bool:
    """Return whether work is enough for some exchanges between all slots."""
    return work >= _LEAST_TURNS * _exchange_work(slots, lines)


def refined(
    slots: HeldPairs,
    switch: IntArray,
    fixed: FloatArray,
    aim: FloatArray | None,
    work: int,
) -> Durations:
    """Move pairs among slots in place, and return durations that end soonest.

    `work`: rows of two slots that are looked at, about.
    """
    best = best_durations(slots.size, slots.held(), switch, fixed)
    assert best is not None
    kept = slots.at.copy()
    least = (slots.busiest_line() + float(fixed.sum())) / len(fixed)
    moves = _Moves(slots, work)
    goal, share = np.zeros(len(switch)), _FIRST
    if aim is not None and _end(aim, switch, fixed) < best.total:
        goal, share = aim, 1.0
    while moves.work > 0 and share > _LEAST and best.total > least + _GAIN:
        served = moves.towards(best.slot + share * (goal - best.slot))
        better = None
        if slots.complete():
            better = best_durations(slots.size, slots.held(), switch, fixed)
        if better is not None and better.total < best.total - _GAIN:
            best, kept = better, slots.at.copy()
        else:
            slots.at = kept.copy()
            share *= 1.0 if served else _NARROWER
        if served:
            share = min(1.0, share * _WIDER)
        reached = _end(goal, switch, fixed) >= best.total
        if goal.any() and (share < _TOWARDS_AIM or reached):
            goal, share = np.zeros(len(switch)), _FIRST
    slots.at = kept
    return best


class _Moves:
    """Moves of pairs among slots, as long as there is work left for them."""

    def __init__(self, slots: HeldPairs, work: int) -> None:
        self._slots, self._random = slots, np.random.default_rng(0)
        count, lines = slots.at.shape
        self._exchange = _exchange_work(count, lines)
        self._match = count * lines * lines // _MATCHED
        self.work = work

    def towards(self, lasts: FloatArray) -> bool:
        """Move pairs until durations serve them all, or for some turns."""
        slots = self._slots
        slots.weight[:] = 1.0
        for turn in range(_TURNS):
            if turn % _TURNS_A_MATCHING == 0:
                slots.drop_needless(lasts)
                slots.insert(lasts)
                slots.rematch(lasts)
                self.work -= self._match
            slots.exchange(lasts, self._random)
            self.work -= self._exchange
            if slots.lacking(lasts) <= _GAIN:
                return True
            slots.weigh(lasts)
        slots.insert(lasts)
        return False


def _exchange_work(slots: int, lines: int) -> int:
    """Return the work of exchanges between all slots."""
    return (slots * lines // 2 + _CALL) * slots


def _end(lasts: FloatArray, switch: IntArray, fixed: FloatArray) -> float:
    """Return when the last switch ends."""
    return float((np.bincount(switch, lasts, len(fixed)) + fixed).max())
