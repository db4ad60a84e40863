"""Bounds on rounds: each kind where it is the best, with its witness."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.fewest_rounds.round_bounds import round_bound, round_bounds
from lightloom.validate.certificates.rounds import (
    crowded_middle,
    fewest_around_middle,
)


def _collective(op: str, ranks: int, chunks: int) -> Collective:
    return Collective(op, tuple(range(ranks)), chunks * 8, chunks)


@pytest.mark.parametrize(
    ("rows", "cols", "lasers", "op", "chunks", "kind", "rounds", "nodes"),
    [
        # Fifteen chunks arrive two at a time.
        (4, 4, 2, "all-gather", 16, "receive", 8, (0,)),
        # The root alone has what five others wait for.
        (2, 3, 1, "scatter", 6, "send", 5, (0,)),
        # Twice as many know it after every round.
        (2, 4, 1, "broadcast", 1, "growth", 3, (0,)),
        # Ten deliveries, of which the first round makes one, the second two.
        (2, 3, 1, "broadcast", 2, "volume", 4, (0, 1, 2, 3, 4, 5)),
        # Four pairs cross the middle of a line, one at a time.
        (1, 4, 1, "all-to-all", 4, "cut", 4, (0, 1)),
    ],
)
def test_each_kind_is_the_best_somewhere(
    rows: int,
    cols: int,
    lasers: int,
    op: str,
    chunks: int,
    kind: str,
    rounds: int,
    nodes: tuple[int, ...],
) -> None:
    """The best bound, its kind and its witness, worked out by hand."""
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=1)
    best = round_bound(fabric, _collective(op, rows * cols, chunks))
    assert (best.kind, best.rounds, best.nodes) == (kind, rounds, nodes)
    assert best.reason


@pytest.mark.parametrize(
    ("rows", "cols", "lasers", "rounds"),
    [(2, 4, 5, 4), (3, 4, 8, 4), (5, 5, 16, 4), (4, 4, 6, 6)],
)
def test_the_middle_round_of_an_all_reduce(
    rows: int, cols: int, lasers: int, rounds: int
) -> None:
    """Just enough lasers for a round less, but not in the middle one."""
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=1)
    best = round_bound(fabric, _collective("all-reduce", rows * cols, rows * cols))
    assert (best.kind, best.rounds) == ("middle", rounds)


def test_the_middle_round_leaves_room_for_what_exists() -> None:
    """Exchanges among k roots of each chunk, with s rounds before and after."""
    for ranks in range(2, 40):
        for lasers in range(1, ranks + 2):
            least = crowded_middle(ranks, lasers, ranks)
            assert least <= 2 * -(-(ranks - 1) // lasers)
            for roots in range(1, ranks):
                if roots * (roots - 1) <= lasers:
                    assert least <= 2 * -(-(ranks - roots) // lasers) + 1


def _fewest_messages(ranks: int, lasers: int) -> int:
    """Return the least 2 m1 + m2 + 2 m3 of one chunk in three rounds, by search."""
    pairs = [(x, y) for x in range(ranks) for y in range(ranks) if x != y]
    rounds = []
    for size in range(len(pairs) + 1):
        for sent in combinations(pairs, size):
            ends = [Counter(end) for end in zip(*sent, strict=True)]
            if all(max(end.values()) <= lasers for end in ends):
                rounds.append(sent)
    reached: dict[tuple[frozenset[int], ...], int] = {
        tuple(frozenset([one]) for one in range(ranks)): 0
    }
    for cost in (2, 1, 2):
        after: dict[tuple[frozenset[int], ...], int] = {}
        for known, paid in reached.items():
            for sent in rounds:
                then = list(known)
                for x, y in sent:
                    then[y] |= known[x]
                key, total = tuple(then), paid + cost * len(sent)
                after[key] = min(total, after.get(key, total))
        reached = after
    return reached[(frozenset(range(ranks)),) * ranks]


def test_no_chunk_takes_fewer_messages_around_the_middle() -> None:
    """All three rounds of three tiles with a laser each."""
    assert fewest_around_middle(3, 1) <= _fewest_messages(3, 1) == 6


def test_nothing_to_do_takes_no_rounds() -> None:
    """One rank has everything from the start."""
    fabric = Lightpath(rows=2, cols=2, lasers=1)
    bounds = round_bounds(fabric, _collective("all-gather", 1, 1))
    assert [bound.rounds for bound in bounds] == [0] * len(bounds)


@pytest.mark.parametrize("ranks", [2, 3, 4, 6])
def test_reversal_keeps_receive_and_send(ranks: int) -> None:
    """What an all-gather receives its reversal sends, and the other way round."""
    fabric = Lightpath(rows=2, cols=3, lasers=1)
    gather, scatter = (
        {bound.kind: bound.rounds for bound in round_bounds(fabric, task)}
        for task in (
            _collective("all-gather", ranks, ranks),
            _collective("reduce-scatter", ranks, ranks),
        )
    )
    assert gather["receive"] == scatter["send"] == ranks - 1
    assert gather["send"] == scatter["receive"] == 1
    assert gather["growth"] == scatter["growth"]
