"""Arc-disjoint trees on tori: on real buffers, by their arcs, and as schedules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.torus_trees import last_pieces, torus_spanning_trees
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.rank_buffers import execute

MIB = 2**20


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["broadcast", "reduce"]),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.booleans(),
    st.integers(1, 4),
    st.data(),
)
def test_they_do_their_collective(
    op: str,
    shape: tuple[int, int],
    both_ways: bool,  # noqa: FBT001
    pieces: int,
    data: st.DataObject,
) -> None:
    """For any torus, root and pieces, down to fewer chunks than pieces."""
    ranks = shape[0] * shape[1]
    root = data.draw(st.integers(0, ranks - 1))
    chunks = data.draw(st.integers(1, 20))
    keys = {"shape": list(shape), "pieces": pieces, "both_ways": both_ways}
    task = Collective(op, tuple(range(ranks)), 4 * chunks, chunks, root)
    execute(make_algorithm("torus-trees", keys, op=op).plan(task, 3))


@pytest.mark.parametrize(
    ("rows", "cols", "both_ways", "depth"),
    [
        (4, 4, True, 5),
        (8, 8, True, 9),
        (5, 5, True, 6),
        (5, 6, True, 6),
        (4, 4, False, 7),
        (1, 6, True, 5),
    ],
)
def test_trees_share_no_arc_and_are_shallow(
    rows: int,
    cols: int,
    both_ways: bool,  # noqa: FBT001
    depth: int,
) -> None:
    """Every node hears each tree from another neighbour, down to the known depth."""
    count = rows * cols
    feeders, kinds, depths = torus_spanning_trees(rows, cols, both_ways=both_ways)
    axes = (rows > 1) + (cols > 1)
    trees = axes * (1 + both_ways)
    assert len(feeders) == trees
    for node in range(1, count):
        assert {kind[node] for kind in kinds} == set(range(trees))
    for feeder, kind, deep in zip(feeders, kinds, depths, strict=True):
        assert [node for node in range(1, count) if feeder[node] == 0] == [
            node for node in range(1, count) if deep[node] == 1
        ]
        assert deep.count(1) == 1
        for node in range(1, count):
            assert deep[node] == deep[feeder[node]] + 1
            row, col = (node // cols - feeder[node] // cols), node % cols
            col -= feeder[node] % cols
            step = [(0, 1), (1, 0), (0, -1), (-1, 0)]
            if axes == 1:
                step = [(0, 1), (0, -1)]
            elif not both_ways:
                step = step[:2]
            away = step[kind[node]]
            assert ((row - away[0]) % rows, (col - away[1]) % cols) == (0, 0)
    assert max(max(one) for one in depths) == depth


@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_on_rings_all_spans_work_all_the_time(op: str) -> None:
    """8 x 8 nodes, 64 MiB: in one configuration, a fifth above what can be proven."""
    fabric = Ring2d(
        rows=8, cols=8, row_wavelengths=16, column_wavelengths=16, directions=2
    )
    task = Collective(op, tuple(range(64)), 64 * MIB)
    made = synthesise(Instance(fabric, task, "a test"))
    assert made.incumbent is not None
    schedule = made.incumbent.schedule
    assert schedule.algorithm.name == "torus-trees"
    assert verify(schedule).violations == ()
    assert len(schedule.segments) == 1
    assert made.objective is not None
    assert made.objective <= 453_100_000


def test_three_dimensions_are_refused() -> None:
    """Trees are known for rows and columns."""
    task = Collective("broadcast", tuple(range(8)), 64)
    with pytest.raises(InputError, match="at most two dimensions"):
        make_algorithm("torus-trees", {"shape": [2, 2, 2]}).plan(task, 3)


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
