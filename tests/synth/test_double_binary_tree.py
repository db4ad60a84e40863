"""Double binary trees: shape, length of the pipeline, and the square-root rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.plans.algorithms.double_binary_tree import DoubleBinaryTree

if TYPE_CHECKING:
    from lightloom.plans.plan import Plan


def _plan(op: str, ranks: int, pieces: int) -> Plan:
    task = Collective(op, tuple(range(ranks)), 8 * pieces, 2 * pieces)
    return DoubleBinaryTree(pieces).plan(task, 4)


def _parents(ranks: int) -> list[dict[int, set[int]]]:
    """Return the children of every inner rank, for each tree."""
    trees: list[dict[int, set[int]]] = [{}, {}]
    for one in _plan("all-reduce", ranks, 1).rounds:
        for row in np.flatnonzero(one.op == 1).tolist():
            children = trees[int(one.chunk_lo[row])].setdefault(
                int(one.dst[row]), set()
            )
            children.add(int(one.src[row]))
    return trees


@settings(deadline=None)
@given(st.integers(1, 300))
def test_two_binary_trees_share_the_work(ranks: int) -> None:
    """Each tree reaches all ranks, is binary, and no rank is inner in both."""
    first, second = _parents(ranks)
    assert not set(first) & set(second)
    for tree in (first, second):
        children = [child for found in tree.values() for child in found]
        assert len(children) == len(set(children)) == ranks - 1
        assert all(len(found) <= 2 for found in tree.values())


@pytest.mark.parametrize("pieces", [1, 2, 7])
@pytest.mark.parametrize("ranks", [2, 3, 8, 21, 64])
def test_length_of_the_pipeline(ranks: int, pieces: int) -> None:
    """With q pieces q - 1 + 2 H rounds and four ports, H = floor(log2 n)."""
    height = ranks.bit_length() - 1
    rounds = _plan("all-reduce", ranks, pieces).rounds
    assert len(rounds) == pieces - 1 + 2 * height
    assert max(int(one.port.max()) for one in rounds) < 4
    rooted = _plan("broadcast", ranks, pieces).rounds
    assert len(rooted) == pieces + (ranks - 1).bit_length() - 1
    assert max(int(one.port.max()) for one in rooted) < 3


@settings(deadline=None)
@given(
    st.integers(2, 40),
    st.integers(2, 4000),
    st.integers(1, 10**6),
    st.integers(1, 10**13),
)
def test_best_pieces(ranks: int, size_bytes: int, alpha_ps: int, rate: int) -> None:
    """No other number of pieces gives a shorter pipeline."""
    levels = len(_plan("all-reduce", ranks, 1).rounds) - 1
    data_ps = 2 * size_bytes * 8 * 10**12 // rate

    def time_ps(pieces: int) -> int:
        return -(-(pieces + levels) * (alpha_ps * pieces + data_ps) // pieces)

    found = DoubleBinaryTree.best_pieces(ranks, size_bytes, alpha_ps, rate)
    assert time_ps(found) == min(time_ps(q) for q in range(1, size_bytes // 2 + 1))
