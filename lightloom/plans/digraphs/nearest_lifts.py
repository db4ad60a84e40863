"""The search for lifts in which few arcs lead from a rank to all others, in sum.

What an all-to-all sends grows with that sum, whatever the longest way.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.plans.digraphs.lift import Lift
from lightloom.plans.digraphs.lift_flow import least_load, shortest_moves
from lightloom.plans.digraphs.metacyclic import Metacyclic, metacyclic_groups
from lightloom.plans.digraphs.ports_in_turn import lit_ports

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray

_FAR = 1 << 32
_MOST_GROUPS = 4
_STARTS = 24
_WORK = 1 << 29
"""Distances looked up for a lift, until which the search is begun anew."""
_LOOKED_UP_AT_ONCE = 1 << 20
_MOVES_COMPARED = 1 << 12
"""States and rounds, of all lifts whose loads are compared."""


@functools.lru_cache(maxsize=32)
def nearest_lift(ranks: int, degree: int, rounds: tuple[int, ...] = ()) -> Lift:
    """Return a lift in which few hops lead to all ranks, in sum, and evenly so.

    Generators of some metacyclic groups are drawn at random; then one by one exchanged
    for that with which ranks are nearest, until no exchange brings them nearer. Of the
    best found, the one whose arcs an all-to-all can load most evenly.

    `ranks`: number of ranks, at least 2. `degree`: ports of each configuration; there
    must be as many ranks as ports of all, and one more. `rounds`: rounds of each
    configuration; by default one configuration, and as many rounds as it takes.

    Returns the lift of the ports of all configurations, one after the other. Where
    there are too few rounds, some ranks are out of reach. Deterministic.
    """
    ports = degree * max(1, len(rounds))
    allowed = rounds or (_enough_rounds(ranks, degree),)
    # Groups that commute have fewer different ways.
    groups = metacyclic_groups(ranks)
    groups = groups[1 : 1 + _MOST_GROUPS] or groups
    choose = seeded_random(ranks * 1000 + ports)
    found: dict[Lift, int] = {}
    left = _WORK
    for group in groups * _STARTS:
        total, steps, work = _climbed(group, ports, allowed, choose)
        found[Lift(group, tuple((step,) for step in steps))] = total
        left -= work
        if left < 0:
            break
    compared = max(1, _MOVES_COMPARED // (ranks * sum(allowed)))
    best = sorted(found, key=found.__getitem__)[:compared]
    return min(best, key=lambda lift: _load(lift, rounds)) if compared > 1 else best[0]


def _enough_rounds(ranks: int, degree: int) -> int:
    """Return one round more than ranks are away at least."""
    rounds, reached = 1, 1 + degree
    while reached < ranks and degree > 1:
        rounds, reached = rounds + 1, 1 + degree * reached
    return rounds + 1 if degree > 1 else ranks - 1


def _load(lift: Lift, rounds: tuple[int, ...]) -> float:
    """Return what arcs carry at least in an all-to-all, in blocks."""
    moves = None
    if rounds:
        moves = shortest_moves(lift, rounds)
    elif lift.distances().min() >= 0:
        moves = shortest_moves(lift, (int(lift.distances().max()),))
    return float(_FAR) if moves is None else least_load(moves)


def _climbed(
    group: Metacyclic, count: int, rounds: Sequence[int], choose: random.Random
) -> tuple[int, list[int], int]:
    """Return the sum of hops, the generators with which no exchange lowers it, work."""
    order = group.order
    element = np.arange(order, dtype=np.int64)
    steps = choose.sample(range(1, order), count)
    lit = [range(one.start, one.stop) for one in lit_ports(count, rounds)]
    lookups = order * sum(map(len, lit))
    most = max(1, _LOOKED_UP_AT_ONCE // lookups)
    best, stale, place, work = _FAR * order, 0, 0, 0
    while stale < count:
        others = np.setdiff1d(element[1:], steps[:place] + steps[place + 1 :])
        if len(others) > most:
            others = np.sort(choose.sample(others.tolist(), most))
        work += lookups * len(others)
        totals = _hop_sums(group, steps, place, others, lit)
        least = int(totals.min())
        stale = 0 if least < best else stale + 1
        if least <= best:
            steps[place] = choose.choice(others[totals == least].tolist())
            best = least
        place = (place + 1) % count
    return best, steps, work


def _hop_sums(
    group: Metacyclic,
    steps: Sequence[int],
    place: int,
    others: IntArray,
    lit: Sequence[range],
) -> IntArray:
    """Return the sums of hops to all ranks, with each other generator at a place.

    A rank that is never reached counts far more.
    """
    order = group.order
    hops = np.full((order, len(others)), order, dtype=np.int32)
    hops[0] = 0
    element = np.arange(order, dtype=np.int64)[:, None]
    # Where each generator leads to each rank from.
    by_other = group.product(element, group.inverse(others))
    by_step = group.product(element, group.inverse(np.array(steps))).T
    for ports in lit:
        fewest = hops
        for port in ports:
            if port == place:
                before = np.take_along_axis(hops, by_other, axis=0)
            else:
                before = hops[by_step[port]]
            fewest = np.minimum(fewest, before + 1)
        hops = fewest
    missed = hops >= order
    sums: IntArray = np.where(missed, 0, hops).sum(axis=0, dtype=np.int64)
    sums += _FAR * missed.sum(axis=0, dtype=np.int64)
    return sums
