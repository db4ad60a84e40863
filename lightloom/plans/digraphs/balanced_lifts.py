"""Lifts of small diameter whose arcs can be loaded evenly: known ones, and a search."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lightloom.core.seed import seeded_random
from lightloom.plans.digraphs.lift import Lift
from lightloom.plans.digraphs.metacyclic import Metacyclic, metacyclic_groups

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

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
