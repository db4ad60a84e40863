"""Disjoint trees, between servers too, and double binary ones: shape, pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.core.units import KIB, MIB
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.disjoint_trees import DoubleBinaryTree, tree_arcs
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.rank_buffers import execute

if TYPE_CHECKING:
    from lightloom.plans.plan import Plan


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 200), st.integers(1, 20))
def test_trees_span_and_are_disjoint(ranks: int, ports: int) -> None:
    """Each tree reaches everyone once; no pair occurs twice, no rank overspends."""
    arcs = tree_arcs(ranks, ports)
    count = min(ports, ranks - 1)
    pairs = arcs.parent * ranks + arcs.child
    assert len(set(pairs.tolist())) == len(pairs)
    assert int(np.bincount(arcs.parent).max()) <= count
    assert 1 <= len(arcs.tree_depths) <= count
    assert int(arcs.port.max()) < count
    for tree, height in enumerate(arcs.tree_depths.tolist()):
        rows = np.flatnonzero(arcs.tree == tree)
        assert sorted(arcs.child[rows].tolist()) == list(range(1, ranks))
        depth = dict(
            zip(arcs.child[rows].tolist(), arcs.depth[rows].tolist(), strict=True)
        )
        assert max(depth.values()) == height
        for row in rows.tolist():
            above = int(arcs.parent[row])
            assert arcs.depth[row] == (depth[above] if above else 0) + 1


@pytest.mark.parametrize(
    ("ranks", "depths"),
    [(16, [2] * 15), (64, [3] * 16), (128, [3] * 16), (256, [3] * 15 + [4])],
)
def test_as_many_flat_trees_as_ports(ranks: int, depths: list[int]) -> None:
    """All 16 ports are used on the racks people have, with trees three deep."""
    assert sorted(tree_arcs(ranks, 16).tree_depths.tolist()) == depths


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 90), st.integers(1, 12), st.integers(1, 4), st.booleans())
def test_fans_and_late_trees(ranks: int, ports: int, fan: int, late: bool) -> None:  # noqa: FBT001
    """Whatever the shape, everyone gets everything, on as many circuits as ports."""
    given = {
        "ports": ports,
        "trees_per_last_piece" if late else "root_children": fan,
        "pieces": 2,
    }
    for op in ("broadcast", "reduce"):
        made = make_algorithm("disjoint-trees", given, op=op)
        count = made.granularity(ranks, ports)
        plan = made.plan(Collective(op, tuple(range(ranks)), 4 * count, count), ports)
        execute(plan)
        pairs = np.unique(
            np.concatenate([one.src * ranks + one.dst for one in plan.rounds])
        )
        for end in (pairs // ranks, pairs % ranks):
            assert int(np.bincount(end).max()) <= ports


@pytest.mark.parametrize(("ranks", "late"), [(32, 2), (64, 4), (512, 2), (1024, 4)])
def test_late_trees_are_flatter(ranks: int, late: int) -> None:
    """Each spans, over arcs of other trees, and ends a round earlier."""
    arcs = tree_arcs(ranks, 16, 1, late)
    assert int(arcs.late.sum()) == 16 // late
    assert int(arcs.tree_depths[arcs.late].max()) == arcs.depth_of_most - 1
    pairs = arcs.parent * ranks + arcs.child
    first = arcs.late[arcs.tree]
    assert set(pairs[first].tolist()) <= set(pairs[~first].tolist())
    for tree in np.flatnonzero(arcs.late).tolist():
        child = arcs.child[arcs.tree == tree]
        assert sorted(child.tolist()) == list(range(1, ranks))


@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_pipeline_on_one_configuration(op: str) -> None:
    """Pieces + depth - 1 steps, all on one segment; 4 MiB last that many shares."""
    task = Collective(op, tuple(range(64)), 4 * MIB)
    rack = Instance(Lightpath(rows=8, cols=8), task, "test")
    found = synthesise(rack, "disjoint-trees", {"pieces": 6})
    assert found.incumbent is not None
    assert found.objective is not None
    schedule = found.incumbent.schedule
    assert len(schedule.segments) == 1
    assert schedule.step_count == 8
    data_ps = found.objective - 3_700_000 - 8 * 700_000
    assert data_ps == pytest.approx(8 / 6 * 4 * MIB * 8 / 2.4, rel=0.01)


@pytest.mark.parametrize("op", ["scatter", "gather"])
def test_the_root_never_waits_for_the_farthest(op: str) -> None:
    """Blocks that go three hops leave first: 11, 4 and 1 over the busiest circuit."""
    made = make_algorithm("spanning-tree", {"ports": 4, "far_first": True}, op=op)
    plan = made.plan(Collective(op, tuple(range(64)), 64, 64), 4)
    execute(plan)
    most = []
    for one in plan.rounds:
        pair = one.src * 64 + one.dst
        most.append(int(np.bincount(pair, one.chunk_hi - one.chunk_lo).max()))
    assert most == ([11, 4, 1] if op == "scatter" else [1, 4, 11])


def test_spanning_tree_of_two_rounds() -> None:
    """273 ranks are 1 + 16 + 256; the whole buffer takes one laser twice."""
    task = Collective("scatter", tuple(range(273)), 273, 273)
    assert len(make_algorithm("spanning-tree", {}).plan(task, 16).rounds) == 2
    task = Collective("broadcast", tuple(range(64)), 15 * KIB)
    rack = Instance(Lightpath(rows=8, cols=8), task, "test")
    found = synthesise(rack, "spanning-tree", {"ports": 16})
    assert found.objective == 3_700_000 + 2 * (700_000 + 819_200)


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


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["broadcast", "reduce"]),
    st.tuples(st.integers(2, 7), st.integers(2, 4)),
    st.integers(1, 8),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.data(),
)
def test_trees_between_servers_do_their_collective(
    op: str,
    shape: tuple[int, int],
    ports: int,
    pieces: list[int],
    data: st.DataObject,
) -> None:
    """For any box, root, trees and pieces, down to fewer chunks than shares."""
    ranks = shape[0] * shape[1]
    root = data.draw(st.integers(0, ranks - 1))
    chunks = data.draw(st.integers(1, 200))
    keys = {"shape": list(shape), "ports": ports, "pieces": pieces}
    task = Collective(op, tuple(range(ranks)), 4 * chunks, chunks, root)
    execute(make_algorithm("rail-trees", keys, op=op).plan(task, 3))


@pytest.mark.parametrize("shape", [[6], [2, 3, 2]])
def test_other_boxes_are_refused(shape: list[int]) -> None:
    """There are servers and their ranks, no third dimension."""
    ranks = int(np.prod(shape))
    task = Collective("broadcast", tuple(range(ranks)), 64)
    with pytest.raises(InputError, match="servers and their ranks"):
        make_algorithm("rail-trees", {"shape": shape}).plan(task, 3)


@pytest.mark.parametrize(("op", "most_us"), [("broadcast", 41.6), ("reduce", 41.6)])
def test_servers_hear_each_byte_once(op: str, most_us: float) -> None:
    """A pipeline of unequal pieces on 8 servers of 8: 5 % above what is proven."""
    keys = {"shape": [8, 8], "ports": 7, "pieces": [1, 2, 3, 3, 3, 2, 1]}
    made = synthesise(load_instance(f"superpod-64/{op}-4MiB"), "rail-trees", keys)
    assert made.incumbent is not None
    assert made.objective is not None
    assert made.objective <= most_us * 10**6
    assert verify(made.incumbent.schedule).valid


@pytest.mark.slow
def test_auto_takes_them_on_many_servers() -> None:
    """512 ranks, 16 MiB: 131 us, where a scatter and an all-gather take 149."""
    made = synthesise(load_instance("superpod-512/broadcast-16MiB"))
    assert made.incumbent is not None
    assert made.incumbent.schedule.algorithm.name == "rail-trees"
    assert made.objective is not None
    assert made.objective <= 131_000_000
