"""The search for generators of a group that reach all ranks in few rounds, evenly."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.plans.digraphs.lift import Lift
from lightloom.plans.digraphs.lift_walks import walks_in_turn
from lightloom.plans.digraphs.metacyclic import Metacyclic, metacyclic_groups

if TYPE_CHECKING:
    import random

    import numpy.typing as npt

    from lightloom.core.columns import IntArray

# Words of so many steps there must be for each rank, or some rank is always missed.
_PLENTY = {2: 1.5, 3: 3}
_CLIMBS = 6
_CLIMBED_ONCE = 512
_MOST_SWEEPS = 24
_COMPARED = 4
_EXCHANGES = 400
_FAR = 1 << 32


@functools.lru_cache(maxsize=16)
def even_steps(ranks: int, degree: int) -> Lift | None:
    """Return steps that reach all ranks in the fewest rounds there can be, evenly.

    For some metacyclic groups, steps drawn at random are exchanged one by one for
    those with which one or two of them lead to most ranks. Where the group commutes,
    half the pairs of steps lead to the same rank as the other half; else hardly any
    need to. Some with the shortest paths are compared by the loads of the ports in an
    all-to-all.

    `degree`: number of steps d, at least 2.

    Returns the lift with one orbit, of two or three rounds; ``None`` if none was found,
    or the ranks are too many for the steps. Deterministic.
    """
    rounds, reached = 1, 1 + degree
    while reached < ranks and degree > 1:
        rounds, reached = rounds + 1, 1 + degree * reached
    if rounds not in _PLENTY or degree**rounds < _PLENTY[rounds] * ranks:
        return None
    choose = seeded_random(ranks * 1000 + degree)
    climbs = _CLIMBS if ranks <= _CLIMBED_ONCE else 1
    climbed = [
        Lift.of_steps(group, _climbed(group, degree, choose))
        for _ in range(climbs)
        for group in metacyclic_groups(ranks)
    ]
    climbed.sort(key=lambda one: _total(one, rounds))
    compared = [_closer(one, rounds, choose) for one in climbed[: climbs * _COMPARED]]
    near = [one for one in compared if _total(one, rounds) < _FAR]
    return min(near, key=_cost, default=None)


def _cost(lift: Lift) -> tuple[int, int]:
    """Return what ports with most to send send in an all-to-all, and all of them."""
    distance = lift.distances()[0]
    walks = walks_in_turn(lift, 1, (int(distance.max()),))
    return walks.load(lift), int(distance.sum())


def _total(lift: Lift, rounds: int) -> int:
    """Return the sum of distances from a rank, each too long one counting far more."""
    distance = lift.distances()[0]
    far = (distance < 0) | (distance > rounds)
    return int(distance[~far].sum()) + _FAR * int(far.sum())


def _closer(lift: Lift, rounds: int, choose: random.Random) -> Lift:
    """Exchange steps at random while some ranks are too far away."""
    total = _total(lift, rounds)
    for _ in range(_EXCHANGES):
        if total < _FAR:
            break
        steps = [step for (step,) in lift.heads]
        steps[choose.randrange(len(steps))] = choose.randrange(1, lift.group.order)
        other = Lift.of_steps(lift.group, set(steps))
        if len(other.heads) == len(steps) and _total(other, rounds) <= total:
            lift, total = other, _total(other, rounds)
    return lift


def _climbed(group: Metacyclic, degree: int, choose: random.Random) -> tuple[int, ...]:
    """Exchange random steps until no other leads to more ranks in two rounds."""
    ranks = group.order
    element = np.arange(1, ranks, dtype=np.int64)
    square = group.product(element, element)[:, None]
    steps = choose.sample(range(1, ranks), degree)
    most, stale = 0, 0
    for turn in range(_MOST_SWEEPS * degree):
        place = turn % degree
        others = np.array(steps[:place] + steps[place + 1 :], dtype=np.int64)
        known = _reached(group, others)
        leads = np.concatenate(
            [
                element[:, None],
                square,
                group.product(element[:, None], others),
                group.product(others, element[:, None]),
            ],
            axis=1,
        )
        new = np.zeros((ranks - 1, ranks), dtype=np.bool_)
        np.put_along_axis(new, leads, values=True, axis=1)
        gain = (new & ~known).sum(axis=1)
        gain[others - 1] = -1
        steps[place] = 1 + choose.choice(np.flatnonzero(gain == gain.max()).tolist())
        reached = int(known.sum() + gain.max())
        stale = 0 if reached > most else stale + 1
        most = max(most, reached)
        if most == ranks or stale >= degree:
            break
    return tuple(sorted(steps))


def _reached(group: Metacyclic, steps: IntArray) -> npt.NDArray[np.bool_]:
    """Return where at most two of the steps lead, as booleans by element."""
    reached = np.zeros(group.order, dtype=np.bool_)
    reached[0] = True
    reached[steps] = True
    reached[group.product(steps[:, None], steps)] = True
    return reached
