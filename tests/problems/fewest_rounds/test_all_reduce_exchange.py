"""All-reduce in one round less, where its halves can meet in exchanges."""

from __future__ import annotations

import pytest

from lightloom.problems.fewest_rounds.chunk_moves import copies
from lightloom.problems.fewest_rounds.planned_rounds import (
    exchanging,
    root_blocks,
)
from tests.problems.fewest_rounds.test_few_rounds import OPS, Lightpath, solved


@pytest.mark.parametrize(
    ("rows", "cols", "lasers", "rounds"),
    [
        (2, 2, 2, 3),  # a ring
        (2, 4, 2, 7),
        (4, 4, 2, 15),
        (2, 3, 4, 3),  # direct
        (2, 4, 3, 5),
        (3, 4, 5, 5),
        (4, 4, 7, 5),
        (2, 4, 7, 3),  # a step round a ring, then forwarding
    ],
)
def test_halves_share_a_round(rows: int, cols: int, lasers: int, rounds: int) -> None:
    """One round less than an all-gather there and back, and no fewer are possible."""
    assert "all-reduce" in OPS
    fabric = Lightpath(rows=rows, cols=cols, lasers=lasers, waveguides=1)
    found = solved(fabric, "all-reduce", tries=None)
    assert found.rounds == found.bound.rounds == rounds
    assert found.method.endswith("its halves exchanged")


@pytest.mark.parametrize("waveguides", [1, 2])
def test_three_roots_share_a_round(waveguides: int) -> None:
    """Each tile is a root of three chunks: six lasers busy in all of three rounds."""
    fabric = Lightpath(rows=3, cols=3, lasers=6, waveguides=waveguides)
    found = solved(fabric, "all-reduce", tries=None)
    assert found.rounds == found.bound.rounds == 3
    assert len(found.moves) == 3 * 6 * 9
    assert found.method.endswith("exchanged among roots")


def test_blocks_of_roots() -> None:
    """Of three tiles or more, each tile in its own."""
    fabric = Lightpath(rows=2, cols=3, lasers=1, waveguides=1)
    blocks = [block.astype(int).tolist() for block in root_blocks(fabric)]
    assert [sum(block[0]) for block in blocks] == [3, 6]
    assert blocks[0][1] == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(("lasers", "rounds"), [(3, 2), (11, 2)])
def test_one_round_is_refuted(lasers: int, rounds: int) -> None:
    """Four tiles with less than twelve lasers exchange nothing in one round."""
    fabric = Lightpath(rows=2, cols=2, lasers=lasers, waveguides=1)
    found = solved(fabric, "all-reduce")
    assert found.rounds == found.bound.rounds == rounds


def test_no_exchange_of_three_and_none_without_a_second_wavelength() -> None:
    """A chunk that goes to two tiles at first, and a tile with one laser."""
    two = copies([(0, 0, 0), (0, 1, 0)], [[0, 1], [0, 2]])
    assert exchanging(two, 8) is None
    one = copies([(0, 3, 0)], [[0, 1]])
    assert exchanging(one, 1) is None
    both = exchanging(one, 2)
    assert both is not None
    assert (both.round_count, sorted(both.wavelength.tolist())) == (1, [0, 1])
