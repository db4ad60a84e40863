"""Fixed digraphs: diameter, load of the arcs, and one configuration for all rounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.synth.algorithms import make_algorithm
from lightloom.synth.algorithms.even_walks import even_walks
from lightloom.synth.algorithms.kautz_graph import (
    circulant_arcs,
    kautz_arcs,
    shortest_trees,
)
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
    arcs = circulant_arcs(30, (5, 6), 9)
    keys = set(arcs.key.tolist())
    for backwards in (False, True):
        found = shortest_trees(arcs, backwards=backwards)
        for start, end in zip(*np.nonzero(found.distance), strict=True):
            before = found.before[start, end]
            assert found.distance[start, before] == found.distance[start, end] - 1
            pair = (end, before) if backwards else (before, end)
            assert pair[0] * 30 + pair[1] in keys


def test_circulant_loads_its_arcs_evenly() -> None:
    """64 ranks on 16 arcs: one block in the first round, three in the second."""
    arcs = circulant_arcs(64, (8, 8), 16)
    found = shortest_trees(arcs)
    for length, share in ((1, 1), (2, 3)):
        start, end = np.nonzero(found.distance == length)
        arc = found.before[start, end] * 64 + end
        assert int(np.bincount(arc).max()) == share


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
    rack = Instance("test", Lightpath(rows=8, cols=8), task)
    found = synthesise(rack, "fixed-digraph", {"degree": 16}).incumbent
    assert found is not None
    assert len(found.schedule.segments) == 1
    assert found.schedule.step_count == rounds


def test_too_few_digits() -> None:
    """Radices must be able to count the ranks."""
    task = Collective("all-gather", tuple(range(10)), 10, 10)
    with pytest.raises(InputError, match="product of the radices is 9"):
        make_algorithm("fixed-digraph", {"radices": [3, 3]}).plan(task, 9)
