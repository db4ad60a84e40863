"""Trees along dimensions: on real buffers, by their arcs, and at the rate of a node."""

from __future__ import annotations

from math import prod

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

MB, MIB = 10**6, 2**20
LINES = ("arcs", "multicast", "chain")

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(
    lambda shape: prod(shape) <= 24
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["broadcast", "reduce"]),
    shapes,
    st.sampled_from(LINES),
    st.integers(1, 4),
    st.data(),
)
def test_they_do_their_collective(
    op: str, shape: list[int], lines: str, pieces: int, data: st.DataObject
) -> None:
    """For any box, root and pieces, down to fewer chunks than pieces."""
    ranks = prod(shape)
    root = data.draw(st.integers(0, ranks - 1))
    chunks = data.draw(st.integers(1, 20))
    keys = {"shape": shape, "pieces": pieces, "lines": lines}
    task = Collective(op, tuple(range(ranks)), 4 * chunks, chunks, root)
    execute(make_algorithm("level-trees", keys, op=op).plan(task, 3))


@settings(max_examples=80, deadline=None)
@given(shapes, st.sampled_from(LINES[1:]), st.data())
def test_no_dimension_of_a_rank_has_two_trees(
    shape: list[int], lines: str, data: st.DataObject
) -> None:
    """A rank hears each tree along another dimension, and sends one along each.

    But for the last piece, that multicast brings in as few rounds as there is distance.
    """
    ranks = prod(shape)
    sizes = [size for size in shape if size > 1]
    trees = len(sizes)
    root = data.draw(st.integers(0, ranks - 1))
    chunks = 2 * max(trees, 1)
    task = Collective("broadcast", tuple(range(ranks)), 4 * chunks, chunks, root)
    keys = {"shape": shape, "lines": lines, "pieces": 2}
    chains = lines == "chain"
    plan = make_algorithm("level-trees", keys).plan(task, 3)
    deepest = sum(sizes) - trees + (trees > 1) if chains else trees
    assert len(plan.rounds) <= deepest + 1
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
            if tree % 2:
                continue
            assert (dst, apart[0]) not in heard
            heard.add((dst, apart[0]))
            sent.setdefault((src, apart[0]), set()).add((tree, dst if chains else 0))
    assert len(heard) == trees * (ranks - 1)
    assert all(len(what) == 1 for what in sent.values())


@settings(max_examples=80, deadline=None)
@given(shapes, st.data())
def test_each_pair_of_a_line_bears_one_tree(
    shape: list[int], data: st.DataObject
) -> None:
    """All pairs but those that lead to the root; no tree is deeper than D + 1."""
    ranks = prod(shape)
    sizes = [size for size in shape if size > 1]
    trees = sum(size - 1 for size in sizes)
    root = data.draw(st.integers(0, ranks - 1))
    count = max(trees, 1)
    task = Collective("broadcast", tuple(range(ranks)), 4 * count, count, root)
    plan = make_algorithm("level-trees", {"shape": shape}).plan(task, 3)
    assert len(plan.rounds) <= len(sizes) + 1
    pairs = [
        pair
        for one in plan.rounds
        for pair in zip(one.src.tolist(), one.dst.tolist(), strict=True)
    ]
    moved = sum(int((one.chunk_hi - one.chunk_lo).sum()) for one in plan.rounds)
    assert moved == len(set(pairs)) == len(pairs) == trees * (ranks - 1)
    assert all(dst != root for _, dst in pairs)


@pytest.mark.parametrize("switching", ["tunable", "fixed"])
@pytest.mark.parametrize("op", ["broadcast", "reduce"])
@pytest.mark.parametrize(("lines", "hops"), [("arcs", 3), ("chain", 7)])
def test_a_full_pipeline_runs_at_the_rate_of_a_node(
    switching: str, op: str, lines: str, hops: int
) -> None:
    """On SiPAC(4, 1), 20 pieces take 19 turns more than one, each at the full rate.

    Where all pairs of a line are used, the shuffle is enough.
    """
    fabric = Sipac(radix=4, switching=switching)
    if switching == "fixed" and lines == "chain":
        return
    size, pieces = 120 * MB, 20
    nodes = tuple(range(16))
    instance = Instance(fabric, Collective(op, nodes, size), "a test")
    keys = {"pieces": pieces, "lines": lines}
    found = synthesise(instance, "level-trees", keys).incumbent
    assert found is not None
    assert verify(found.schedule).violations == ()
    assert len(found.schedule.segments) == 1
    port = fabric.wavelengths * fabric.bits_per_second_per_wavelength
    turn = fabric.alpha_ps + transmission_ps(size // 2 // pieces, port)
    assert replay(found.schedule).completion_time_ps == (pieces + hops - 1) * turn


@pytest.mark.parametrize(
    ("radix", "switching", "most_ps"),
    [(8, "tunable", 303_000_000), (8, "fixed", 303_000_000), (2, "fixed", 303_000_000)],
)
@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_auto_is_near_the_bound(
    radix: int, switching: str, most_ps: int, op: str
) -> None:
    """64 MiB on two levels: within 5 % of what any schedule takes."""
    fabric = Sipac(radix=radix, switching=switching)
    nodes = tuple(range(fabric.node_count))
    made = synthesise(Instance(fabric, Collective(op, nodes, 64 * MIB), "a test"))
    assert made.incumbent is not None
    assert made.incumbent.schedule.algorithm.name == "level-trees"
    assert verify(made.incumbent.schedule).violations == ()
    assert made.objective is not None
    assert made.bound is not None
    assert made.objective <= most_ps
    assert made.objective < 1.05 * made.bound


@pytest.mark.parametrize(
    ("fabric", "nodes"),
    [
        (
            Sipac(radix=4),
            tuple(4 * row + place for row in (0, 1) for place in range(4)),
        ),
        (Sipac(radix=4, loopback=True), tuple(range(16))),
    ],
)
def test_uneven_pairs_are_fed_by_multicast_or_chains(
    fabric: Sipac, nodes: tuple[int, ...]
) -> None:
    """Pairs of longer lines, or with uneven shares of wavelengths, take longer."""
    for op, lines in (("broadcast", "multicast"), ("reduce", "chain")):
        made = synthesise(Instance(fabric, Collective(op, nodes, 64 * MIB), "a test"))
        assert made.incumbent is not None
        assert made.incumbent.schedule.algorithm.parameters["lines"] == lines
