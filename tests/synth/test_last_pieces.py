"""Last pieces of trees on a torus: every arc once a step, and a step sooner."""

from __future__ import annotations

import pytest

from lightloom.plans.last_pieces import last_pieces
from lightloom.plans.torus_spanning_trees import torus_spanning_trees


@pytest.mark.parametrize(
    ("sizes", "ways", "deep", "least"),
    [
        ((4, 4), 2, 5, 4),
        ((8, 8), 2, 9, 8),
        ((6, 10), 2, 10, 9),
        ((4, 4), 1, 7, 6),
        ((1, 8), 2, 7, 4),
        ((2, 3), 2, 4, 3),
        ((3, 3), 2, 3, 3),
    ],
)
def test_last_pieces_take_arcs_that_idle(
    sizes: tuple[int, int], ways: int, deep: int, least: int
) -> None:
    """Who feeds has heard before; an arc bears one piece a step, behind all others."""
    rows, cols = sizes
    trees = torus_spanning_trees(rows, cols, both_ways=ways == 2)
    feeders, kinds, depths = last_pieces(*trees)
    assert max(max(one) for one in trees[2]) == deep
    assert max(max(one) for one in depths) == least
    source = {
        (node, kind): feeder
        for some, others in zip(*trees[:2], strict=True)
        for node, (feeder, kind) in enumerate(zip(some, others, strict=True))
        if node
    }
    usual = {
        (node, kind): depth
        for some, others in zip(*trees[1:], strict=True)
        for node, (kind, depth) in enumerate(zip(some, others, strict=True))
        if node
    }
    taken: set[tuple[int, int, int]] = set()
    for tree, depth in enumerate(depths):
        for node in range(1, rows * cols):
            feeder, kind = feeders[tree][node], kinds[tree][node]
            assert source[node, kind] == feeder
            assert depth[node] > (depth[feeder] if feeder else 0)
            # The piece before the last crosses an arc a step before its own depth.
            assert depth[node] >= usual[node, kind]
            assert (node, kind, depth[node]) not in taken
            taken.add((node, kind, depth[node]))
