"""Fixed digraphs: diameter, load of the arcs, and one configuration for all rounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.plans.digraphs.balanced_generators import even_steps
from lightloom.plans.digraphs.balanced_walks import even_walks
from lightloom.plans.digraphs.kautz_graph import (
    kautz_arcs,
    shortest_trees,
)
from lightloom.plans.digraphs.lift_walks import even_walks_of
from lightloom.plans.digraphs.metacyclic import Metacyclic, metacyclic_groups
from lightloom.synth.synthesise import synthesise


@pytest.mark.parametrize(
    ("ranks", "degree"), [(2, 1), (7, 1), (5, 2), (12, 3), (100, 10), (272, 16)]
)
def test_kautz_diameter(ranks: int, degree: int) -> None:
    """Every node is within ceil(log_d n) arcs of every other; Kautz graphs closer."""
    rounds = ranks - 1
    if degree > 1:
        rounds = 1
        while degree**rounds < ranks:
            rounds += 1
    rounds = 2 if (ranks, degree) == (272, 16) else rounds
    arcs = kautz_arcs(ranks, degree)
    src, dst = np.divmod(arcs.key, ranks)
    assert (np.bincount(src) <= degree).all()
    assert (np.bincount(dst) <= degree).all()
    for backwards in (False, True):
        distance = shortest_trees(arcs, backwards=backwards).distance
        assert int(distance.max()) <= rounds


def test_shortest_trees_are_shortest() -> None:
    """The node before is one arc nearer, and the arc is one of the digraph's."""
    arcs = kautz_arcs(30, 9)
    keys = set(arcs.key.tolist())
    for backwards in (False, True):
        found = shortest_trees(arcs, backwards=backwards)
        for start, end in zip(*np.nonzero(found.distance), strict=True):
            before = found.before[start, end]
            assert found.distance[start, before] == found.distance[start, end] - 1
            pair = (end, before) if backwards else (before, end)
            assert pair[0] * 30 + pair[1] in keys


def test_even_walks_are_shortest_walks() -> None:
    """Every hop is an arc, there are as many as needed, and loads are near even."""
    arcs = kautz_arcs(64, 8)
    src, dst = np.divmod(arcs.key, 64)
    distance = shortest_trees(arcs).distance
    at = even_walks(src, dst, distance)
    node = np.arange(64)
    assert (at[0] == node[:, None]).all()
    assert (at[-1] == node[None, :]).all()
    keys = set(arcs.key.tolist())
    taken = np.zeros((64, 64), dtype=np.int64)
    for before, after in pairwise(at):
        moved = before != after
        assert set((before * 64 + after)[moved].tolist()) <= keys
        load = np.bincount((before * 64 + after)[moved])
        assert int(load.max()) <= 10
        taken += moved
    assert (taken == distance).all()


@pytest.mark.parametrize(
    ("op", "rounds"),
    [("all-gather", 2), ("all-reduce", 4), ("all-to-all", 2), ("reduce-scatter", 2)],
)
def test_one_configuration(op: str, rounds: int) -> None:
    """On 64 tiles all rounds share one configuration of 16 circuits a tile."""
    task = Collective(op, tuple(range(64)), 64 * 1024)
    rack = Instance(Lightpath(rows=8, cols=8), task, "test")
    found = synthesise(rack, "fixed-digraph", {"degree": 16}).incumbent
    assert found is not None
    assert len(found.schedule.segments) == 1
    assert found.schedule.step_count == rounds


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_metacyclic_groups(data: st.DataObject) -> None:
    """Products associate, 0 is neutral, inverses invert; all but the first twist."""
    order = data.draw(st.integers(1, 60))
    groups = metacyclic_groups(order)
    assert groups[0] == Metacyclic(order)
    group = data.draw(st.sampled_from(groups))
    assert group.order == order
    assert group.is_sound
    one, two, three = (
        np.array([data.draw(st.integers(0, order - 1)) for _ in range(20)])
        for _ in range(3)
    )
    left = group.product(group.product(one, two), three)
    assert (left == group.product(one, group.product(two, three))).all()
    assert (group.product(one, group.inverse(one)) == 0).all()
    assert (group.product(one, np.zeros(20, dtype=np.int64)) == one).all()
    every = np.arange(order)
    table = group.product(every[:, None], every)
    assert (table == table.T).all() == (group == groups[0])


@pytest.mark.parametrize("ranks", [20, 32, 64, 128, 512])
def test_even_steps(ranks: int) -> None:
    """Ports send the least there is, in an all-to-all and in an all-gather."""
    found = even_steps(ranks, 16)
    assert found is not None
    assert found.is_sound
    assert (found.ranks, found.orbits, len(found.heads)) == (ranks, 1, 16)
    distance = found.distances()[0]
    assert int(distance.max()) == (3 if ranks == 512 else 2)
    walks = even_walks_of(found, 1)
    assert sorted(walks.nodes[-1].tolist()) == list(range(1, ranks))
    assert walks.load(found) == -(-int(distance.sum()) // 16)
    at_hops = np.bincount(distance)[1:]
    for lift in (found, found.turned()):
        assert lift.gather_load(1) == int((-(-at_hops // 16)).sum())


def test_even_steps_are_the_same_again() -> None:
    """Nothing depends on what was asked before."""
    first = even_steps(48, 12)
    even_steps.cache_clear()
    assert even_steps(48, 12) == first


def test_even_steps_where_there_are_none() -> None:
    """Nothing to find where one step, or not even two, would do."""
    assert even_steps(1, 1) is None
    assert even_steps(17, 16) is None
    assert even_steps(256, 16) is None
