"""Balanced digraphs: the known ones, even splits, and gossip on any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.digraphs.balanced_lifts import KNOWN, balanced_lifts
from lightloom.plans.digraphs.even_split import even_split
from lightloom.plans.digraphs.lift import Lift
from lightloom.plans.digraphs.metacyclic import Metacyclic
from tests.oracle.rank_buffers import execute

EXPECTED = {
    (16, 4): [(3, 4, 15, 15), (2, 1, 4, 4)],
    (64, 4): [(4, 4, 63, 63)],
    (256, 8): [(4, 8, 255, 257)],
    (1024, 16): [(3, 16, 1042, 1042)],
}
"""Ranks and ports to hops, pieces, and pieces over the busiest arcs each way."""


def test_known_digraphs_are_as_short_and_even_as_stated() -> None:
    """What a long search found is checked: nothing rests on the search."""
    found: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for lift in KNOWN:
        turned = lift.turned()
        assert lift.is_sound
        assert turned.is_sound
        hops = int(lift.distances().max())
        assert hops == turned.distances().max()
        key = lift.ranks, len(lift.heads)
        _, pieces, *_ = EXPECTED[key][len(found.setdefault(key, []))]
        loads = lift.gather_load(pieces), turned.gather_load(pieces)
        found[key].append((hops, pieces, *loads))
    assert found == EXPECTED


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


@pytest.mark.parametrize(("ranks", "degree"), [(2, 1), (9, 8), (12, 3), (30, 4)])
def test_there_is_a_digraph_for_any_ranks(ranks: int, degree: int) -> None:
    """The first has as few hops as a search finds, and no more than the next."""
    found = balanced_lifts(ranks, degree)
    hops = [int(lift.distances().max()) for lift in found]
    assert all(lift.is_sound and lift.ranks == ranks for lift in found)
    assert hops == sorted(hops)
