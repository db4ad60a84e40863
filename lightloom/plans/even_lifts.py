"""The search for lifts whose arcs lead everywhere in few hops and are loaded evenly."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.seed import seeded_random
from lightloom.plans.lifts import (
    Lift,
    Metacyclic,
    least_load,
    lit_ports,
    metacyclic_groups,
    shortest_moves,
    walks_in_turn,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray


_FAR = 1 << 32
_NEARLY = 1.001
_TRIALS = 12
_EXCHANGES = 40
_MOST_RANKS = 1024
_MOST_GROUPS = 4


KNOWN: tuple[Lift, ...] = (
    Lift.of_steps(Metacyclic(8, 2, 7), (1, 3, 10, 12)),
    Lift(
        Metacyclic(8, 2, 7),
        ((9, 27, 42, 52), (27, 38, 51, 10), (38, 63, 13, 24), (63, 9, 31, 45)),
    ),
    Lift.of_steps(Metacyclic(32, 8, 3), (43, 47, 50, 113, 166, 169, 173, 227)),
    Lift.of_steps(
        Metacyclic(64, 16, 3),
        (
            *(18, 83, 228, 238, 275, 310, 374, 380),
            *(412, 425, 449, 464, 544, 585, 714, 890),
        ),
    ),
)
"""Lifts of fewer hops than the short search finds."""


@functools.lru_cache(maxsize=16)
def balanced_lifts(ranks: int, degree: int) -> tuple[Lift, ...]:
    """Return lifts of the least diameter that is found, and of one hop more.

    That of `KNOWN`, if any; and generators of some metacyclic groups, drawn at random
    and exchanged one by one while some rank is too far away, then compared by the load
    of the arcs in an all-gather forwards and backwards.

    `ranks`: number of ranks, at least 2. `degree`: number of ports, 1 to ``ranks - 1``.

    Returns one or two; where the search finds none, that of the next ranks.
    Deterministic.
    """
    nearest = Lift.of_steps(Metacyclic(ranks), range(1, degree + 1))
    if ranks > _MOST_RANKS or degree in (1, ranks - 1):
        return (nearest,)
    hops, reached = 1, 1 + degree
    while reached < ranks:
        hops, reached = hops + 1, 1 + degree * reached
    choose = seeded_random(ranks * 1000 + degree)
    found = [lift for lift in KNOWN if (lift.ranks, len(lift.heads)) == (ranks, degree)]
    for most in (hops, hops + 1)[len(found) :]:
        searched = _searched(ranks, degree, most, choose)
        if searched is not None:
            load, lift = searched
            found.append(lift)
            if load == 2 * (ranks - 1):
                break  # each block comes in once, over all ports alike
    return tuple(found) or (nearest,)


def enough_pieces(lift: Lift) -> int:
    """Return with how few pieces of a block arcs are loaded nearly as evenly as can be.

    A power of two, or as many as ports: the least whose load in an all-gather, either
    way, is within 0.1 % of the lightest.
    """
    ports = len(lift.heads)
    tried: list[int] = [
        *(1 << bit for bit in range(ports.bit_length()) if 1 << bit < ports),
        ports,
    ]
    turned = lift.turned()
    loads = [
        max(lift.gather_load(pieces), turned.gather_load(pieces)) / pieces
        for pieces in tried
    ]
    enough = [load <= _NEARLY * min(loads) for load in loads].index(True)
    return tried[enough]


def _searched(
    ranks: int, degree: int, hops: int, choose: random.Random
) -> tuple[int, Lift] | None:
    """Return the lift of so many hops with the lightest arcs, and their load."""
    best: tuple[int, Lift] | None = None
    for lift in _drawn(ranks, degree, hops, choose):
        load = lift.gather_load(degree) + lift.turned().gather_load(degree)
        if best is None or load < best[0]:
            best = load, lift
        if load == 2 * (ranks - 1):
            break
    return best


def _drawn(ranks: int, degree: int, hops: int, choose: random.Random) -> Iterator[Lift]:
    """Yield Cayley digraphs of so many hops, from every group."""
    for group in metacyclic_groups(ranks)[:_MOST_GROUPS]:
        for _ in range(_TRIALS):
            steps = choose.sample(range(1, ranks), degree)
            total = _total(Lift.of_steps(group, steps), hops)
            for _ in range(_EXCHANGES):
                if total < _FAR:
                    yield Lift.of_steps(group, steps)
                    break
                other = list(steps)
                other[choose.randrange(degree)] = choose.randrange(1, ranks)
                if len(set(other)) == degree:
                    others = _total(Lift.of_steps(group, other), hops)
                    if others <= total:
                        steps, total = other, others


def _total(lift: Lift, hops: int) -> int:
    """Return the sum of distances from a rank, each too long one counting far more."""
    distance = lift.distances()[0]
    far = (distance < 0) | (distance > hops)
    return int(distance[~far].sum()) + _FAR * int(far.sum())


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


# Words of so many steps there must be for each rank, or some rank is always missed.
_PLENTY = {2: 1.5, 3: 3}
_CLIMBS = 6
_CLIMBED_ONCE = 512
_MOST_SWEEPS = 24
_COMPARED = 4
_MOST_EXCHANGES = 400


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
        Lift.of_steps(group, _farthest_reaching(group, degree, choose))
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


def _closer(lift: Lift, rounds: int, choose: random.Random) -> Lift:
    """Exchange steps at random while some ranks are too far away."""
    total = _total(lift, rounds)
    for _ in range(_MOST_EXCHANGES):
        if total < _FAR:
            break
        steps = [step for (step,) in lift.heads]
        steps[choose.randrange(len(steps))] = choose.randrange(1, lift.group.order)
        other = Lift.of_steps(lift.group, set(steps))
        if len(other.heads) == len(steps) and _total(other, rounds) <= total:
            lift, total = other, _total(other, rounds)
    return lift


def _farthest_reaching(
    group: Metacyclic, degree: int, choose: random.Random
) -> tuple[int, ...]:
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
