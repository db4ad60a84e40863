"""Trees along dimensions: on real buffers, by their arcs, and at the rate of a node."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.replay import replay
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.rank_buffers import execute

MB = 10**6

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(
    lambda shape: prod(shape) <= 24
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["broadcast", "reduce"]),
    shapes,
    st.integers(0, 1),
    st.integers(1, 4),
    st.data(),
)
def test_they_do_their_collective(
    op: str, shape: list[int], chains: int, pieces: int, data: st.DataObject
) -> None:
    """For any box, root and pieces, down to fewer chunks than pieces."""
    ranks = prod(shape)
    root = data.draw(st.integers(0, ranks - 1))
    chunks = data.draw(st.integers(1, 20))
    keys = {"shape": shape, "pieces": pieces, "chains": bool(chains)}
    task = Collective(op, tuple(range(ranks)), 4 * chunks, chunks, root)
    execute(make_algorithm("level-trees", keys, op=op).plan(task, 3))


@settings(max_examples=80, deadline=None)
@given(shapes, st.integers(0, 1), st.data())
def test_no_dimension_of_a_rank_has_two_trees(
    shape: list[int], chains: int, data: st.DataObject
) -> None:
    """A rank hears each tree along another dimension, and sends one along each."""
    ranks = prod(shape)
    sizes = [size for size in shape if size > 1]
    trees = len(sizes)
    root = data.draw(st.integers(0, ranks - 1))
    task = Collective("broadcast", tuple(range(ranks)), 4 * max(trees, 1), None, root)
    task = Collective(task.op, task.nodes, task.buffer_bytes, max(trees, 1), root)
    keys = {"shape": shape, "chains": bool(chains)}
    plan = make_algorithm("level-trees", keys).plan(task, 3)
    deepest = trees + (trees > 1)
    if chains:
        deepest = sum(sizes) - trees + (trees > 1)
    assert len(plan.rounds) <= deepest
    heard: set[tuple[int, int]] = set()
    sent: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for one in plan.rounds:
        for src, dst, tree in zip(
            one.src.tolist(), one.dst.tolist(), one.chunk_lo.tolist(), strict=True
        ):
            apart = [
                place
                for place in range(trees)
                if src // prod(sizes[place + 1 :]) % sizes[place]
                != dst // prod(sizes[place + 1 :]) % sizes[place]
            ]
            assert len(apart) == 1
            assert (dst, apart[0]) not in heard
            heard.add((dst, apart[0]))
            sent.setdefault((src, apart[0]), set()).add((tree, dst if chains else 0))
    assert len(heard) == trees * (ranks - 1)
    assert all(len(what) == 1 for what in sent.values())


@pytest.mark.parametrize(("op", "hops"), [("broadcast", 3), ("reduce", 7)])
def test_a_full_pipeline_runs_at_the_rate_of_a_node(op: str, hops: int) -> None:
    """On SiPAC(4, 1), 20 pieces take 19 turns more than one, each at the full rate."""
    fabric = Sipac(radix=4)
    size, pieces = 120 * MB, 20
    nodes = tuple(range(16))
    instance = Instance(fabric, Collective(op, nodes, size), "a test")
    keys = {"pieces": pieces, "chains": op == "reduce"}
    found = synthesise(instance, "level-trees", keys).incumbent
    assert found is not None
    assert verify(found.schedule).violations == ()
    assert len(found.schedule.segments) == 1
    port = fabric.wavelengths * fabric.bits_per_second_per_wavelength
    turn = fabric.alpha_ps + transmission_ps(size // 2 // pieces, port)
    assert replay(found.schedule).completion_time_ps == (pieces + hops - 1) * turn
    auto = synthesise(instance)
    assert auto.incumbent is not None
    assert auto.incumbent.schedule.algorithm.name == "level-trees"
    assert auto.objective is not None
    assert auto.bound is not None
    assert auto.objective < auto.bound * 1.25


def test_where_the_shuffle_is_fixed_pairs_have_no_whole_port() -> None:
    """Trees are not tried, but for two ports a switch, where there is one pair."""
    for radix, tried in ((4, False), (2, True)):
        fabric = Sipac(radix=radix, switching="fixed")
        nodes = tuple(range(fabric.node_count))
        task = Collective("reduce", nodes, 64 * MB)
        found = synthesise(Instance(fabric, task, "a test")).incumbent
        assert found is not None
        names = {one.algorithm for one in found.compared}
        assert ("level-trees" in names) == tried
        assert np.isin("levels", list(names))
