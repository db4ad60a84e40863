"""Algorithms along the dimensions of a box: on real buffers, and in closed form."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.instances.catalogue import load_instance
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.packet_tiers import FatTree
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.box import Dimensions
from lightloom.replay import replay
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.rank_buffers import execute, pairs, port_chunks

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(
    lambda shape: prod(shape) <= 24
)
RINGS = ("all-gather", "all-reduce", "reduce-scatter")


def task_of(op: str, ranks: int, per_block: int, root: int | None = None) -> Collective:
    """Return a collective of so many chunks a block."""
    chunks = ranks * per_block
    root = root if COLLECTIVES[op].rooted else None
    return Collective(op, tuple(range(ranks)), 4 * chunks, chunks, root)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(COLLECTIVES)), shapes, st.data())
def test_levels_do_their_collective(
    op: str, shape: list[int], data: st.DataObject
) -> None:
    """For any box, parts, chunks and root the buffers end as numpy would have them."""
    ranks = prod(shape)
    most = max(1, sum(size > 1 for size in shape))
    parameters: dict[str, object] = {
        "shape": shape,
        "parts": data.draw(st.none() | st.integers(1, most)),
        "pieces": data.draw(st.integers(1, 3)),
    }
    name = "levels"
    if op == "all-reduce":
        parameters["exchanged"] = data.draw(st.integers(0, most))
    if op in ("broadcast", "reduce") and data.draw(st.booleans()):
        name = "level-scatter-gather"
    root = data.draw(st.integers(0, ranks - 1))
    task = task_of(op, ranks, data.draw(st.integers(1, 5)), root)
    plan = make_algorithm(name, parameters, op=op).plan(task, 3)
    execute(plan)
    box = Dimensions.of(shape, ranks)
    for one in plan.rounds:
        apart = sum(
            box.digit(one.src, number) != box.digit(one.dst, number)
            for number in range(len(box.sizes))
        )
        assert (apart == 1).all()
        joined = np.unique(np.stack([one.port, one.src, one.dst]), axis=1)
        for end in (1, 2):
            assert len(np.unique(joined[[0, end]], axis=1).T) == len(joined.T)


def predicted_us(fabric: FatTree, op: str, name: str, **parameters: object) -> float:
    """Return what an algorithm takes for 16 MiB on servers or leaves of eight."""
    nodes = fabric.node_count
    parameters |= {"shape": [nodes // 8, 8], "parts": 1}
    task = Collective(op, tuple(range(nodes)), 2**24)
    found = synthesise(Instance(fabric, task, "test"), name, parameters)
    assert found.objective is not None
    return found.objective / 10**6


def test_pieces_use_leaves_and_trunks_at_once() -> None:
    """An all-reduce of four pieces is near what nodes send and receive in all."""
    fabric = FatTree(nodes=64, nodes_per_leaf=8, oversubscription=4)
    rate = fabric.node_bits_per_s
    bound_us = 2 * 63 / 64 * transmission_ps(2**24, rate) / 10**6
    assert predicted_us(fabric, "all-reduce", "levels") > 1.3 * bound_us
    assert predicted_us(fabric, "all-reduce", "levels", pieces=4) < 1.06 * bound_us


@pytest.mark.parametrize(
    ("name", "exchanged", "rounds", "us"),
    [
        ("sipac-16/all-reduce-16KiB", 2, 2, 1.784002),
        ("sipac-16/all-reduce-64KiB", 1, 3, 2.676003),
        ("sipac-64/all-reduce-4KiB", 2, 2, 1.624002),
        ("sipac-64/all-reduce-64KiB", 1, 3, 2.772003),
    ],
)
def test_sums_along_levels_meet_the_bound(
    name: str, exchanged: int, rounds: int, us: float
) -> None:
    """All levels in every round: no schedule is faster by more than rounding."""
    found = synthesise(load_instance(name))
    assert found.incumbent is not None
    assert found.bound is not None
    schedule = found.incumbent.schedule
    assert schedule.algorithm.parameters["exchanged"] == exchanged
    assert schedule.footer.steps == rounds
    assert found.objective == round(us * 10**6)
    assert found.objective - found.bound <= rounds


@pytest.mark.parametrize(
    ("op", "parameters", "message"),
    [
        ("all-reduce", {"shape": [2, 3], "exchanged": 3}, "more dimensions exchanged"),
        ("all-gather", {"exchanged": 1}, "does not do all-gather"),
        ("all-reduce", {"exchanged": -1}, "not allowed"),
    ],
)
def test_sums_along_levels_that_there_are_not(
    op: str, parameters: dict[str, object], message: str
) -> None:
    """Only as many as there are, of an all-reduce."""
    with pytest.raises(InputError, match=message):
        make_algorithm("levels", parameters, op=op).plan(task_of(op, 6, 1), 3)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["all-gather", "all-to-all", "reduce-scatter"]),
    shapes,
    st.integers(1, 3),
)
def test_dealt_blocks_do_their_collective(
    op: str, shape: list[int], per_block: int
) -> None:
    """Every block goes its own way round, and no chunk is moved but once to a rank.

    That of an all-to-all is moved once for each digit in which its ends differ.
    """
    ranks = prod(shape)
    task = task_of(op, ranks, per_block)
    made = make_algorithm("levels", {"shape": shape, "whole_blocks": True}, op=op)
    plan = made.plan(task, 3)
    execute(plan)
    moved = sum(int((one.chunk_hi - one.chunk_lo).sum()) for one in plan.rounds)
    if op == "all-to-all":
        apart = sum(ranks * ranks * (size - 1) // size for size in shape)
        assert moved == apart * per_block
        return
    assert moved == ranks * (ranks - 1) * per_block


@pytest.mark.parametrize(
    "shape", [(4, 4), (5, 5, 5), (3, 3, 3), (2,) * 6, (2,) * 7, (3, 3, 3, 3)]
)
def test_dealt_ways_load_all_dimensions_alike(shape: tuple[int, ...]) -> None:
    """To each peer, in each turn, its even share of what differs there, rounded up."""
    size, levels = shape[0], len(shape)
    task = task_of("all-to-all", size**levels, 1)
    made = make_algorithm(
        "levels", {"shape": list(shape), "whole_blocks": True}, op="all-to-all"
    )
    plan = made.plan(task, 3)
    assert len(plan.rounds) == levels
    share = -(-(size ** (levels - 1)) // levels)
    for one in plan.rounds:
        assert port_chunks(one).max() == share


@pytest.mark.parametrize(("size", "levels", "excess"), [(2, 9, 1.0), (2, 10, 1.12)])
def test_dealt_blocks_of_short_dimensions(
    size: int, levels: int, excess: float
) -> None:
    """By number where digits do not add up evenly: near the even shares, rounded up."""
    box = Dimensions((size,) * levels)
    rank = np.arange(box.ranks)
    share = box.shares(rank)
    assert set(share.tolist()) == set(range(levels))
    most = 0
    for turn in range(levels):
        alike = [
            np.bincount(box.corner(rank, box.order(first)[:turn])[share == first])
            for first in range(levels)
        ]
        most += max(int(count.max()) for count in alike)
    even = sum(-(-(size**turn) // levels) for turn in range(levels))
    assert even <= most <= excess * even


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (4, 4, 4, 4), (3, 3, 3)])
def test_dealt_blocks_load_all_dimensions(shape: tuple[int, ...]) -> None:
    """Of the r^t blocks of turn t each dimension has its even share, rounded up."""
    size, levels = shape[0], len(shape)
    task = task_of("all-gather", size**levels, 1)
    made = make_algorithm(
        "levels", {"shape": list(shape), "whole_blocks": True}, op="all-gather"
    )
    for turn, one in enumerate(made.plan(task, 3).rounds):
        share = size**turn / levels
        assert share <= port_chunks(one).max() < share + 1


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(RINGS), shapes, st.integers(0, 1), st.data())
def test_torus_rings_do_their_collective(
    op: str, shape: list[int], both_ways: int, data: st.DataObject
) -> None:
    """Likewise, and nobody talks to any but neighbours on a line of the torus."""
    ranks = prod(shape)
    most = max(1, sum(size > 1 for size in shape))
    parts = data.draw(st.integers(1, most))
    parameters = {"shape": shape, "parts": parts, "both_ways": bool(both_ways)}
    task = task_of(op, ranks, data.draw(st.integers(1, 5)))
    plan = make_algorithm("torus-rings", parameters).plan(task, 3)
    execute(plan)
    box = Dimensions.of(shape, ranks)
    for one in plan.rounds:
        hops = np.zeros(len(one.src), dtype=np.int64)
        for number, size in enumerate(box.sizes):
            ahead = (box.digit(one.dst, number) - box.digit(one.src, number)) % size
            hops += np.minimum(ahead, size - ahead)
        assert (hops == 1).all()


@pytest.mark.parametrize("shape", [(4, 4), (3, 3, 3), (2, 2, 2, 2)])
def test_levels_use_all_dimensions_in_every_round(shape: tuple[int, ...]) -> None:
    """All-reduce on r^L ranks: 2 L rounds, in each of which all ports move alike.

    In the s-th all-gather round a rank sends r^s of its N pieces of each part to each
    peer of the part's dimension: (N - 1) pieces of every part over all rounds, which
    is the least for each of the L levels.
    """
    size, levels = shape[0], len(shape)
    ranks = size**levels
    task = task_of("all-reduce", ranks, levels)
    plan = make_algorithm("levels", {"shape": list(shape)}).plan(task, 3)
    assert len(plan.rounds) == 2 * levels
    for turn, one in enumerate(plan.rounds[levels:]):
        moved = port_chunks(one).tolist()
        assert moved == [size**turn] * (levels * (size - 1))
        assert len(pairs(one)) == ranks * levels * (size - 1)
    for down, up in zip(plan.rounds[:levels], plan.rounds[levels:][::-1], strict=True):
        assert port_chunks(down).tolist() == port_chunks(up).tolist()


def test_all_to_all_moves_a_block_once_for_each_digit() -> None:
    """On 4 x 4 ranks each peer gets a quarter of a rank's parts, in both rounds."""
    task = task_of("all-to-all", 16, 2)
    plan = make_algorithm("levels", {"shape": [4, 4]}).plan(task, 3)
    assert len(plan.rounds) == 2
    for one in plan.rounds:
        assert port_chunks(one).tolist() == [4] * 6  # of 32 chunks in 2 parts


def test_broadcast_reaches_a_level_more_in_every_round() -> None:
    """With one part the holders are 1, then 4; with two, both levels work at once."""
    task = task_of("broadcast", 16, 1, 5)
    plan = make_algorithm("levels", {"shape": [4, 4], "parts": 1}).plan(task, 3)
    assert [len(set(one.src.tolist())) for one in plan.rounds] == [1, 4]
    plan = make_algorithm("levels", {"shape": [4, 4]}).plan(task, 3)
    assert [len(pairs(one)) for one in plan.rounds] == [6, 24]
    assert [int(port_chunks(one).max()) for one in plan.rounds] == [8, 8]


def test_the_hierarchical_ring_keeps_most_data_in_servers() -> None:
    """2 servers of 8: 7 rounds inside, 2 between with an eighth of the data, 7."""
    task = task_of("all-reduce", 16, 1)
    plan = make_algorithm("torus-rings", {"shape": [2, 8]}).plan(task, 3)
    servers = [set((abs(one.src // 8 - one.dst // 8)).tolist()) for one in plan.rounds]
    assert servers == [{0}] * 7 + [{1}] * 2 + [{0}] * 7
    moved = [port_chunks(one).tolist() for one in plan.rounds]
    assert moved == [[2]] * 7 + [[1]] * 2 + [[2]] * 7


def test_torus_rings_use_all_four_links() -> None:
    """On 4 x 4 with both dimensions and both ways every round has 4 ports alike."""
    task = task_of("all-reduce", 16, 4)
    parameters = {"shape": [4, 4], "parts": 2, "both_ways": True}
    plan = make_algorithm("torus-rings", parameters).plan(task, 3)
    assert len(plan.rounds) == 12
    for one in plan.rounds:
        moved = port_chunks(one).tolist()
        assert len(moved) == 4
        assert len(set(moved)) == 1


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("levels", {"shape": [3, 4]}, r"product of the shape is 12.*16.*try"),
        ("levels", {"shape": [4, 4], "parts": 3}, "2 dimensions.*at most 2 parts"),
        ("levels", {"shape": [0, 4]}, "shape.*>= 1"),
        ("levels", {"whole_blocks": True}, "does not do all-reduce"),
        ("torus-rings", {"shape": [16], "parts": 2}, "1 dimensions.*at most 1 parts"),
        ("torus-rings", {"shape": [2, 7]}, r"product.*14.*try \[4, 4\]"),
    ],
)
def test_bad_parameters(name: str, parameters: dict[str, object], message: str) -> None:
    """What does not fit the ranks is refused, with what would."""
    with pytest.raises(InputError, match=message):
        make_algorithm(name, parameters).plan(task_of("all-reduce", 16, 1), 3)


def test_only_broadcast_and_reduce_go_through_blocks() -> None:
    """Other collectives have blocks already."""
    with pytest.raises(InputError, match="does not do all-gather"):
        make_algorithm("level-scatter-gather", {}, op="all-gather")


def test_blocks_are_dealt_whole_and_for_two_collectives_only() -> None:
    """Parts of blocks have their own way, and broadcast has no blocks."""
    whole = make_algorithm(
        "levels", {"whole_blocks": True, "parts": 2}, op="all-gather"
    )
    with pytest.raises(InputError, match="with whole_blocks the buffer has one part"):
        whole.plan(task_of("all-gather", 16, 1), 3)
    with pytest.raises(InputError, match="does not do broadcast"):
        make_algorithm("levels", {"whole_blocks": True}, op="broadcast")


MB, MIB = 10**6, 2**20
LINES = ("arcs", "multicast", "chain")

tree_shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(
    lambda shape: prod(shape) <= 24
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["broadcast", "reduce"]),
    tree_shapes,
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
@given(tree_shapes, st.sampled_from(LINES[1:]), st.data())
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
@given(tree_shapes, st.data())
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
    [
        pytest.param(8, "tunable", 303_000_000, marks=pytest.mark.slow),
        (8, "fixed", 303_000_000),
        (2, "fixed", 303_000_000),
    ],
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
    trees = ("level-trees", "torus-trees") if radix == 2 else ("level-trees",)
    assert made.incumbent.schedule.algorithm.name in trees
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
        best = next(
            one for one in made.incumbent.compared if one.algorithm == "level-trees"
        )
        assert best.parameters["lines"] == lines
