"""Lifts and Kautz digraphs: the known ones, even splits, and gossip on any of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm, proposed
from lightloom.plans.even_lifts import KNOWN, balanced_lifts, even_steps, nearest_lift
from lightloom.plans.kautz import even_walks, kautz_arcs, shortest_trees
from lightloom.plans.lifts import (
    Lift,
    Metacyclic,
    even_split,
    even_walks_of,
    least_load,
    metacyclic_groups,
    shortest_moves,
)
from lightloom.plans.setting import Setting
from lightloom.synth.synthesise import synthesise
from tests.oracle.rank_buffers import execute

HOPS = {(16, 4): 2, (64, 4): 3, (256, 8): 3, (1024, 16): 3}
"""Of the known digraphs: one less than the search finds."""
LOADS = {
    (8, 2): [(3, 7, 7)],
    (16, 4): [(2, 16, 16), (3, 15, 15)],
    (64, 4): [(3, 68, 68), (4, 63, 63)],
    (256, 8): [(3, 257, 257), (4, 255, 255)],
}
"""Ranks and ports to hops, and pieces over the busiest arcs each way, as many pieces a
block as ports: n - 1 is the least there can be."""


def test_known_digraphs_are_as_short_as_stated() -> None:
    """What a long search found is checked: nothing rests on the search."""
    found = {}
    for lift in KNOWN:
        assert lift.is_sound
        hops = int(lift.distances().max())
        assert hops == lift.turned().distances().max()
        found[lift.ranks, len(lift.heads)] = hops
    assert found == HOPS


@pytest.mark.parametrize(("ranks", "ports"), LOADS)
def test_digraphs_are_as_even_as_can_be(ranks: int, ports: int) -> None:
    """On the switches of the how-to no port idles in an all-gather, but on 16 nodes."""
    assert LOADS[ranks, ports] == [
        (
            int(lift.distances().max()),
            lift.gather_load(ports),
            lift.turned().gather_load(ports),
        )
        for lift in balanced_lifts(ranks, ports)
    ]


@given(
    st.tuples(st.integers(1, 6), st.integers(1, 4)).flatmap(
        lambda shape: arrays(np.bool_, shape)
    ),
    st.integers(1, 4),
)
def test_even_splits_are_as_even_as_can_be(
    fits: np.typing.NDArray[np.bool_], pieces: int
) -> None:
    """Whole items, over arcs that fit; no set of items has too few arcs (Hall)."""
    fits[:, 0] |= ~fits.any(axis=1)
    amounts = even_split(fits, pieces)
    assert (amounts.sum(axis=1) == pieces).all()
    assert not amounts[~fits].any()
    least = 0
    for chosen in range(1, 2 ** len(fits)):
        rows = [row for row in range(len(fits)) if chosen >> row & 1]
        arcs = int(fits[rows].any(axis=0).sum())
        least = max(least, -(-len(rows) * pieces // arcs))
    assert amounts.sum(axis=0).max() == least
    shared = (amounts > 0).sum(axis=1)
    assert (shared - 1).sum() < max(2, fits.shape[1])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_gossip_on_any_sound_digraph(data: st.DataObject) -> None:
    """Several orbits, twisted groups, pieces that chunks do not divide."""
    group = data.draw(
        st.sampled_from([Metacyclic(3, 2, 2), Metacyclic(4), Metacyclic(5, 4, 2)])
    )
    orbits = data.draw(st.integers(1, 2))
    ports = data.draw(st.integers(2, 3))
    heads = []
    for _ in range(ports):
        order = data.draw(st.permutations(range(orbits)))
        steps = data.draw(
            st.lists(st.integers(0, group.order - 1), min_size=orbits, max_size=orbits)
        )
        pairs = zip(order, steps, strict=True)
        heads.append(tuple(other * group.order + step for other, step in pairs))
    lift = Lift(group, tuple(heads))
    op = data.draw(st.sampled_from(("all-gather", "all-reduce", "all-to-all")))
    parameters = {
        "heads": [end for head in heads for end in head],
        "group": [group.rotations, group.turns, group.twist],
        "pieces": data.draw(st.integers(1, 3)),
    }
    maker = make_algorithm("balanced-digraph", parameters, op=op)
    chunks = lift.ranks * data.draw(st.integers(1, 4))
    task = Collective(op, tuple(range(lift.ranks)), chunks, chunks=chunks)
    if not lift.is_sound or lift.distances().min() < 0:
        with pytest.raises(InputError, match="invalid digraph"):
            maker.plan(task, ports)
        return
    plan = maker.plan(task, ports)
    execute(plan)
    assert len(plan.rounds) % max(1, int(lift.distances().max())) == 0


@pytest.mark.parametrize(
    ("ranks", "degree", "rounds", "pieces", "load"),
    [
        (16, 4, (), 1, 7),
        (16, 4, (1, 1, 1), 2, 9),
        (64, 4, (), 4, 169),
        (64, 4, (2, 2), 4, 130),
    ],
)
def test_walks_of_an_all_to_all_are_as_even_as_can_be(
    ranks: int, degree: int, rounds: tuple[int, ...], pieces: int, load: int
) -> None:
    """Known answers: what the busiest ports carry, which no division brings lower."""
    lift = nearest_lift(ranks, degree, rounds)
    walks = even_walks_of(lift, pieces, rounds)
    assert walks.load(lift) == load
    longest = rounds or (int(lift.distances().max()),)
    moves = shortest_moves(lift, longest)
    assert moves is not None
    assert np.ceil(pieces * least_load(moves) - 1e-6) == load
    assert load * degree >= (walks.ports >= 0).sum()


@pytest.mark.parametrize(("ranks", "degree"), [(2, 1), (9, 8), (12, 3), (30, 4)])
def test_there_is_a_digraph_for_any_ranks(ranks: int, degree: int) -> None:
    """The first has as few hops as a search finds, and no more than the next."""
    found = balanced_lifts(ranks, degree)
    hops = [int(lift.distances().max()) for lift in found]
    assert all(lift.is_sound and lift.ranks == ranks for lift in found)
    assert hops == sorted(hops)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_all_to_all_on_configurations_that_take_turns(data: st.DataObject) -> None:
    """Walks use the ports of each round alone, and none is longer than it must be."""
    group = data.draw(
        st.sampled_from([Metacyclic(3, 2, 2), Metacyclic(8), Metacyclic(5, 4, 2)])
    )
    in_turn = tuple(data.draw(st.lists(st.integers(1, 2), min_size=1, max_size=3)))
    count, pieces = 2 * len(in_turn), data.draw(st.integers(1, 2))
    steps = data.draw(st.permutations(range(1, group.order)))[:count]
    parameters = {
        "heads": steps,
        "group": [group.rotations, group.turns, group.twist],
        "pieces": pieces,
        "rounds": list(in_turn),
    }
    ranks, lit = (
        group.order,
        [s for s in range(len(in_turn)) for _ in range(in_turn[s])],
    )
    element = np.arange(ranks)
    hops = {0: 0}
    for turn in lit:  # every way, one hop after the other
        before = hops.copy()
        for step in steps[2 * turn : 2 * turn + 2]:
            ends = group.product(element, np.array(step)).tolist()
            for node, count_so_far in before.items():
                other = hops.get(ends[node], ranks)
                hops[ends[node]] = min(count_so_far + 1, other)
    maker = make_algorithm("balanced-digraph", parameters, op="all-to-all")
    chunks = ranks * pieces
    task = Collective("all-to-all", tuple(range(ranks)), chunks, chunks=chunks)
    if len(steps) < count or len(hops) < ranks:
        with pytest.raises(InputError, match="invalid digraph"):
            maker.plan(task, 2)
        return
    plan = maker.plan(task, 2)
    execute(plan)
    assert len(plan.rounds) <= len(lit)
    moved = sum(int((one.chunk_hi - one.chunk_lo).sum()) for one in plan.rounds)
    assert moved == ranks * pieces * sum(hops.values())


@pytest.mark.parametrize(
    ("rounds", "op"),
    [([1], "all-to-all"), ([1] * 9, "all-to-all"), ([2], "all-gather")],
)
def test_configurations_that_lead_nowhere_are_refused(
    rounds: list[int], op: str
) -> None:
    """Too few rounds, more configurations than ranks, another operation."""
    task = Collective(op, tuple(range(9)), 9, chunks=9)
    with pytest.raises(InputError) as refused:
        make_algorithm("balanced-digraph", {"rounds": rounds}, op=op).plan(task, 2)
    where = "algorithm" if op == "all-gather" else "algorithm.rounds"
    assert refused.value.where == where


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


@pytest.mark.parametrize(
    "ranks", [20, 32, 64, 128, pytest.param(512, marks=pytest.mark.slow)]
)
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


@pytest.mark.parametrize("op", ["all-gather", "all-reduce"])
def test_gossip_is_proposed_while_its_plans_fit(op: str) -> None:
    """A row for each block and rank, and phase: 33 million rows are no candidate."""
    names = {
        ranks: {
            name for name, _ in proposed(Setting(op, ranks, 8, 2**20, switched=True))
        }
        for ranks in (64, 4096)
    }
    gossip = {"balanced-digraph", "fixed-digraph"}
    assert gossip & names[64]
    assert names[4096]
    assert not gossip & names[4096]
