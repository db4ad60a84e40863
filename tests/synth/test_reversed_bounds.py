"""Bounds of what reduces are those of what it is the reversal of."""

from __future__ import annotations

import itertools

import pytest

from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.fewest_rounds.exact_rounds import copying
from lightloom.problems.fewest_rounds.round_bounds import round_bound


@pytest.mark.parametrize("op", ["reduce", "reduce-scatter"])
def test_reversal_keeps_the_best_bound(op: str) -> None:
    """Whatever grid, lasers, waveguides and chunks: time turned around changes nothing.

    Two chunks to one of four in a line, one laser: the root takes the last message of
    each chunk, two tiles those before it, so two rounds do not do.
    """
    shapes = itertools.product(range(1, 4), range(2, 5), range(1, 4), (1, 2), (1, 2))
    for rows, cols, lasers, waveguides, block in shapes:
        fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=waveguides)
        ranks = rows * cols
        chunks = block if op == "reduce" else block * ranks
        task = Collective(op, tuple(range(ranks)), chunks * 8, chunks)
        forward = round_bound(fabric, copying(task)).rounds
        assert round_bound(fabric, task).rounds == forward, (fabric, task)


def test_few_can_receive_in_the_end() -> None:
    """Worked out by hand: three messages a chunk, one to receive last, two before."""
    line = Lightpath(rows=1, cols=4, lasers=1, waveguides=1)
    best = round_bound(line, Collective("reduce", (0, 1, 2, 3), 16, 2))
    assert (best.kind, best.rounds) == ("volume", 3)
