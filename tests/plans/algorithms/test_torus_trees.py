"""Arc-disjoint trees on tori: on real buffers, by their arcs, and as schedules."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.torus_trees import (
    last_pieces,
    ring_arcs,
    spanning_trees,
    torus_arcs,
)
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.rank_buffers import execute

if TYPE_CHECKING:
    from lightloom.plans.algorithms.torus_trees import ArcKinds

MIB = 2**20


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["broadcast", "reduce"]),
    st.sampled_from(
        [
            *({"shape": [rows, cols]} for rows in range(1, 6) for cols in (1, 2, 3, 5)),
            *({"shape": shape} for shape in ([2, 2, 2], [3, 2, 3], [4, 1, 3, 2])),
            *({"strides": strides} for strides in ([1], [1, 3], [5, 2, 1])),
        ]
    ),
    st.booleans(),
    st.integers(1, 4),
    st.data(),
)
def test_they_do_their_collective(
    op: str,
    box: dict[str, list[int]],
    both_ways: bool,  # noqa: FBT001
    pieces: int,
    data: st.DataObject,
) -> None:
    """For any torus, rings, root and pieces, down to fewer chunks than pieces."""
    ranks = prod(box["shape"]) if "shape" in box else 7
    root = data.draw(st.integers(0, ranks - 1))
    chunks = data.draw(st.integers(1, 20))
    keys: dict[str, object] = {**box, "pieces": pieces}
    if "shape" in box:
        keys["both_ways"] = both_ways
    task = Collective(op, tuple(range(ranks)), 4 * chunks, chunks, root)
    execute(make_algorithm("torus-trees", keys, op=op).plan(task, 3))


@pytest.mark.parametrize(
    ("sizes", "both_ways", "depth"),
    [
        ((4, 4), True, 5),
        ((8, 8), True, 9),
        ((5, 5), True, 6),
        ((5, 6), True, 6),
        ((4, 4), False, 7),
        ((6,), True, 5),
        ((2, 2, 2), True, 4),
        ((3, 3, 3), True, 4),
        ((4, 4, 4), True, 7),
        ((4, 4, 4), False, 10),
    ],
)
def test_trees_share_no_arc_and_are_shallow(
    sizes: tuple[int, ...],
    both_ways: bool,  # noqa: FBT001
    depth: int,
) -> None:
    """Every node hears each tree from another neighbour, down to the known depth."""
    arcs = torus_arcs(sizes, both_ways=both_ways)
    _, kinds, depths = _checked_trees(arcs)
    assert len(kinds) == len(sizes) * (1 + both_ways)
    assert max(max(one) for one in depths) == depth
    for sign in (1, -1)[: 1 + both_ways]:
        for axis in range(len(sizes)):
            kind = len(sizes) - 1 - axis + (len(sizes) if sign < 0 else 0)
            away = np.zeros((len(sizes), 1), dtype=np.int64)
            away[axis] = sign
            node = np.array(np.unravel_index(np.arange(arcs.count), sizes)) + away
            further = np.ravel_multi_index(tuple(node), sizes, mode="wrap")
            assert further.tolist() == list(arcs.target[kind])


@pytest.mark.parametrize(
    ("nodes", "strides", "depth"), [(16, (1, 3, 5, 7), 4), (9, (1, 2, 4), 4)]
)
def test_rings_of_strides_have_shallow_trees_too(
    nodes: int, strides: tuple[int, ...], depth: int
) -> None:
    """As many trees as strides, one beyond the farthest node deep at most."""
    arcs = ring_arcs(nodes, strides)
    _, kinds, depths = _checked_trees(arcs)
    assert len(kinds) == len(strides)
    assert max(max(one) for one in depths) == depth
    for stride, target in zip(strides, arcs.target, strict=True):
        assert list(target) == [(node + stride) % nodes for node in range(nodes)]


Table = tuple[tuple[int, ...], ...]


def _checked_trees(arcs: ArcKinds) -> tuple[Table, Table, Table]:
    """Return the trees, which span all nodes and share no arc."""
    feeders, kinds, depths = spanning_trees(arcs)
    for node in range(1, arcs.count):
        assert {kind[node] for kind in kinds} == set(range(len(kinds)))
    for feeder, kind, deep in zip(feeders, kinds, depths, strict=True):
        assert deep.count(1) == 1
        for node in range(1, arcs.count):
            assert deep[node] == deep[feeder[node]] + 1
            assert arcs.target[kind[node]][feeder[node]] == node
    return feeders, kinds, depths


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


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"shape": [2, 2, 2, 2], "both_ways": True}, "more dimensions"),
        ({"shape": [4, 4], "strides": [1, 3]}, "leave shape"),
        ({"strides": [1, 4]}, "without a factor in common with 16"),
        ({"strides": [1, 17]}, "two are the same"),
    ],
)
def test_what_has_no_such_trees_is_refused(
    keys: dict[str, object], message: str
) -> None:
    """Too many dimensions, a box and rings at once, rings that leave ranks out."""
    task = Collective("broadcast", tuple(range(16)), 64)
    with pytest.raises(InputError, match=message):
        make_algorithm("torus-trees", keys).plan(task, 3)


@pytest.mark.parametrize(
    ("sizes", "ways", "deep", "least"),
    [
        ((4, 4), 2, 5, 4),
        ((8, 8), 2, 9, 8),
        ((6, 10), 2, 10, 9),
        ((4, 4), 1, 7, 6),
        ((8,), 2, 7, 4),
        ((2, 3), 2, 4, 3),
        ((3, 3), 2, 3, 3),
    ],
)
def test_last_pieces_take_arcs_that_idle(
    sizes: tuple[int, ...], ways: int, deep: int, least: int
) -> None:
    """Who feeds has heard before; an arc bears one piece a step, behind all others."""
    trees = spanning_trees(torus_arcs(sizes, both_ways=ways == 2))
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
        for node in range(1, prod(sizes)):
            feeder, kind = feeders[tree][node], kinds[tree][node]
            assert source[node, kind] == feeder
            assert depth[node] > (depth[feeder] if feeder else 0)
            # The piece before the last crosses an arc a step before its own depth.
            assert depth[node] >= usual[node, kind]
            assert (node, kind, depth[node]) not in taken
            taken.add((node, kind, depth[node]))
