"""All-reduce over hubs and sections: rounds, loads of arcs, every rank counted once."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.hub_sums import HubForest, section_shape
from lightloom.plans.kautz import DeBruijn
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time.one_plane import (
    least_messages,
)
from lightloom.validate.certificates.completion_time.step_costs import summed_in_three
from tests.oracle.rank_buffers import execute

if TYPE_CHECKING:
    from lightloom.plans.plan import Plan


def _plan(ranks: int, degree: int, chunks: int | None = None) -> Plan:
    made = make_algorithm("hub-sums", {"degree": degree}, op="all-reduce")
    count = made.granularity(ranks, degree) if chunks is None else chunks
    task = Collective("all-reduce", tuple(range(ranks)), 4 * count, count)
    return made.plan(task, degree)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.integers(1, 40))
def test_digraph_is_made_of_groups(degree: int, groups: int) -> None:
    """Tails and heads of the groups, ports and both lists of neighbours agree."""
    graph = DeBruijn(degree, groups)
    arcs = {
        (tail, head)
        for group in range(groups)
        for tail in graph.tails(group).tolist()
        for head in graph.heads(group).tolist()
    }
    assert len(arcs) == graph.ranks * degree
    after, before = graph.after(), graph.before()
    assert arcs == {(v, u) for v, row in enumerate(after.tolist()) for u in row}
    assert arcs == {(v, u) for u, row in enumerate(before.tolist()) for v in row}
    for tail, head in arcs:
        assert head in {
            (degree * tail + digit) % graph.ranks for digit in range(degree)
        }
    src, dst = (np.array(end) for end in zip(*sorted(arcs), strict=True))
    port = graph.ports(src, dst)
    assert port.min() >= 0
    assert port.max() < degree
    for end in (src, dst):
        assert len(set(zip(port.tolist(), end.tolist(), strict=True))) == len(arcs)


@pytest.mark.parametrize(
    ("ranks", "degree", "rounds"),
    [
        (16, 16, 2),
        (9, 3, 3),
        (27, 3, 5),
        (32, 4, 5),
        (48, 12, 3),
        (64, 8, 3),
        (64, 16, 3),
        (81, 3, 7),
        (128, 16, 3),
        (256, 16, 3),
    ],
)
def test_rounds_are_one_less_than_twice_the_diameter(
    ranks: int, degree: int, rounds: int
) -> None:
    """2 D - 1 rounds of at most `degree` peers, and all sums are right."""
    plan = _plan(ranks, degree)
    execute(plan)
    assert len(plan.rounds) == rounds
    every = np.concatenate([one.src * ranks + one.dst for one in plan.rounds])
    pairs = np.unique(every)
    for end in (pairs // ranks, pairs % ranks):
        assert int(np.bincount(end).max()) <= degree


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 90), st.integers(1, 17), st.integers(1, 40))
def test_any_number_of_ranks(ranks: int, ports: int, chunks: int) -> None:
    """Ranks too many for the digraph join others, and get the total as well."""
    made = make_algorithm("hub-sums", {}, op="all-reduce")
    task = Collective("all-reduce", tuple(range(ranks)), 4 * chunks, chunks)
    execute(made.plan(task, ports))


@pytest.mark.parametrize(("ranks", "degree", "most"), [(256, 16, 4), (128, 16, 3.25)])
def test_arcs_are_loaded_evenly(ranks: int, degree: int, most: float) -> None:
    """Rounds send at most so many buffers, over all the ports of a rank together."""
    plan = _plan(ranks, degree)
    sent = 0
    for one in plan.rounds:
        _, arc = np.unique(one.src * ranks + one.dst, return_inverse=True)
        size = one.chunk_hi - one.chunk_lo
        sent += degree * int(np.bincount(arc, weights=size).max())
    assert sent <= most * plan.collective.chunk_count


@pytest.mark.parametrize(("ranks", "degree"), [(36, 6), (64, 8), (128, 16), (256, 16)])
def test_messages_are_few(ranks: int, degree: int) -> None:
    """Never fewer than three rounds need, and less than a third more."""
    plan = _plan(ranks, degree)
    sent = sum(int((one.chunk_hi - one.chunk_lo).sum()) for one in plan.rounds)
    least = least_messages(degree, ranks, 3)
    assert least is not None
    per_rank = Fraction(sent, ranks * plan.collective.chunk_count)
    assert least <= per_rank <= Fraction(4, 3) * least


def test_hubs_forget_before_they_add() -> None:
    """A hub that is no root copies once, in the last round up, from the idle one."""
    graph = DeBruijn(4, 4)
    trees = HubForest(graph).trees(1, 0)
    assert trees is not None
    assert trees.idle in trees.roots
    assert np.flatnonzero(trees.up == trees.idle).tolist() == [trees.idle]
    forgetful = sorted(set(trees.hubs.tolist()) - set(trees.roots.tolist()))
    plan = _plan(16, 4)
    first = plan.rounds[0]
    part = plan.collective.chunk_count // graph.groups
    mine = (first.op == Op.COPY) & (first.chunk_lo // part == 1)
    assert sorted(first.dst[mine].tolist()) == forgetful
    assert set(first.src[mine].tolist()) == {trees.idle}


@pytest.mark.parametrize(("ranks", "degree"), [(72, 6), (128, 8), (512, 16)])
def test_relays_take_four_rounds(ranks: int, degree: int) -> None:
    """On one digraph, where hub sums take five; all sums are right."""
    made = make_algorithm("hub-relays", {"degree": degree})
    count = made.granularity(ranks, degree)
    plan = made.plan(
        Collective("all-reduce", tuple(range(ranks)), 4 * count, count), degree
    )
    assert len(plan.rounds) == 4
    every = np.concatenate([one.src * ranks + one.dst for one in plan.rounds])
    pairs = np.unique(every)
    for end in (pairs // ranks, pairs % ranks):
        assert int(np.bincount(end).max()) <= degree
    sent = sum(int((one.chunk_hi - one.chunk_lo).sum()) for one in plan.rounds)
    least = least_messages(degree, ranks, 4)
    assert least is not None
    assert least * ranks * count <= sent <= 3 * ranks * count
    if ranks <= 128:
        execute(plan)


@pytest.mark.parametrize(("ranks", "degree"), [(256, 16), (511, 16), (162, 9), (2, 6)])
def test_no_relays(ranks: int, degree: int) -> None:
    """Ranks that are not q d^2, with a divisor q of d, are refused."""
    task = Collective("all-reduce", tuple(range(ranks)), 4 * ranks)
    with pytest.raises(InputError, match="have no relays"):
        make_algorithm("hub-relays", {"degree": degree}).plan(task, degree)


def test_auto_finds_three_rounds() -> None:
    """A small all-reduce on 256 tiles: three rounds, one configuration, 1 % proved."""
    task = Collective("all-reduce", tuple(range(256)), 4096)
    found = synthesise(Instance(Lightpath(rows=16, cols=16), task, "test"))
    assert found.incumbent is not None
    assert found.incumbent.schedule.algorithm.name == "hub-sums"
    assert found.incumbent.schedule.step_count == 3
    assert len(found.incumbent.schedule.segments) == 1
    assert found.objective is not None
    assert found.bound is not None
    assert 100 * (found.objective - found.bound) <= found.objective


def _arcs_and_values(ranks: int, ports: int) -> tuple[int, bool]:
    """Return the most arcs at a rank, and whether all hold each value once."""
    made = make_algorithm("section-sums", {}, op="all-reduce")
    plan = made.plan(Collective("all-reduce", tuple(range(ranks)), 4, 1), ports)
    assert len(plan.rounds) == 3
    held = np.eye(ranks, dtype=np.int16)
    for one in plan.rounds:
        copied = one.op == int(Op.COPY)
        assert len(np.unique(one.dst[copied])) == np.count_nonzero(copied)
        assert not np.isin(one.dst[~copied], one.dst[copied]).any()
        after = held.copy()
        after[one.dst[copied]] = held[one.src[copied]]
        np.add.at(after, one.dst[~copied], held[one.src[~copied]])
        held = after
    every = np.unique(
        np.concatenate([one.src * ranks + one.dst for one in plan.rounds])
    )
    ends = (every // ranks, every % ranks)
    assert (ends[0] != ends[1]).all()
    return max(int(np.bincount(end).max()) for end in ends), bool((held == 1).all())


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 140), st.integers(1, 9))
def test_all_sums_are_right_or_refused(ranks: int, ports: int) -> None:
    """Where there is a shape, arcs fit the ports; it never exceeds the theorem."""
    if section_shape(ranks, ports) is None:
        with pytest.raises(InputError, match="no shape of three rounds"):
            _arcs_and_values(ranks, ports)
        return
    arcs, right = _arcs_and_values(ranks, ports)
    assert right
    assert arcs <= ports
    assert ranks <= summed_in_three(ports)


def test_shapes_for_16_ports() -> None:
    """For 4 to 1,071 ranks, 512 and 1024 among them, and for no more."""
    tried = (2, 3, 4, 5, 257, 512, 1008, 1023, 1024, 1071, 1072, 1441)
    there = [ranks for ranks in tried if section_shape(ranks, 16) is not None]
    assert there == [4, 5, 257, 512, 1008, 1023, 1024, 1071]
    assert _arcs_and_values(1024, 16) == (16, True)


def test_auto_takes_three_rounds() -> None:
    """100 tiles of 8 lasers: three steps of one configuration, 2 % proved."""
    task = Collective("all-reduce", tuple(range(100)), 1024)
    fabric = Lightpath(rows=10, cols=10, lasers=8)
    found = synthesise(Instance(fabric, task, "test"))
    assert found.incumbent is not None
    assert found.incumbent.schedule.algorithm.name == "section-sums"
    # 3.7 us, and three times 0.7 us and 1 KiB at 150 Gb/s.
    assert found.objective == 3_700_000 + 3 * (700_000 + 54_614)
    assert found.bound is not None
    assert 100 * (found.objective - found.bound) <= 3 * found.bound
