"""Spanning trees of few steps: on real buffers, evenly loaded, faster than others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.packed_trees import (
    PackedTrees,
    divided,
    packed_trees,
    whole_shares,
)
from lightloom.plans.network import RankNetwork
from lightloom.synth.fabrics.packet import PacketRealiser
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.rank_buffers import execute


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from(sorted(PackedTrees.ops)),
    st.integers(2, 6),
    st.integers(1, 3),
    st.data(),
)
def test_every_part_reaches_all(
    op: str, ranks: int, steps: int, data: st.DataObject
) -> None:
    """Whatever the root; parts end at whole chunks."""
    rooted = op in ("broadcast", "reduce")
    root = data.draw(st.integers(0, ranks - 1)) if rooted else None
    task = Collective(op, tuple(range(ranks)), 4 * 60, 60, root)
    plan = make_algorithm("packed-trees", {"steps": steps}, op=op).plan(task, 3)
    execute(plan)
    assert len(plan.rounds) <= (2 * steps if op == "all-reduce" else steps)


@pytest.mark.parametrize("ranks", [3, 4, 8])
def test_two_steps_between_ranks_that_are_all_alike(ranks: int) -> None:
    """A scatter and an all-gather, the best there is: each step takes (n - 1) / n."""
    packing = packed_trees(RankNetwork.full(ranks), 0, 2)
    assert packing.share.sum() == pytest.approx(1)
    assert packing.ps_per_byte == pytest.approx(2 * (ranks - 1) / ranks)


@pytest.mark.parametrize("ranks", [2, 6, 16])
def test_blocks_of_ranks_that_are_all_alike_go_straight(ranks: int) -> None:
    """One step is proven the best of four: nobody can receive n - 1 blocks faster."""
    packing = packed_trees(RankNetwork.full(ranks), 0, 4, translated=True)
    assert packing.heard.max() == 1
    assert packing.ps_per_byte == pytest.approx(ranks - 1)


def test_a_search_serves_both_ways_where_these_are_alike() -> None:
    """Turning all messages changes nothing but which links are whose, or does."""
    network = RankNetwork.full(5)
    assert network.turned() is network
    slow = replace(network, ps_per_byte=np.where(np.arange(10) == 3, 2.0, 1.0))
    assert slow.turned() is not slow
    assert slow.turned() is slow.turned()
    assert (slow.turned().costs() == slow.costs().T).all()


def test_equal_fabrics_share_networks() -> None:
    """So that one operation uses what was searched for another; other nodes do not."""
    instances = [load_instance(f"torus-16/{op}-1MiB") for op in ("broadcast", "reduce")]
    tasks = [instance.task for instance in instances]
    one, other = (
        PacketRealiser(instance.fabric, 0, "").network(task)
        for instance, task in zip(instances, tasks, strict=True)
    )
    assert one is other
    some = Collective("broadcast", (0, 1, 5), 12)
    assert PacketRealiser(instances[0].fabric, 0, "").network(some) is not one


def test_trees_are_trees() -> None:
    """Ranks hear after those that they hear from, the root in no step."""
    packing = packed_trees(RankNetwork.full(6), 2, 3)
    for heard, teller in zip(packing.heard, packing.teller, strict=True):
        others = np.delete(np.arange(6), 2)
        assert heard[2] == 0
        assert (heard[teller[others]] < heard[others]).all()


def test_images_keep_all_costs() -> None:
    """A ring of all ranks alike has one digit, which may be mirrored."""
    network = RankNetwork.full(5)
    images = network.images(1, network.message_ps())
    assert images.tolist() == [[0, 1, 2, 3, 4], [2, 1, 0, 4, 3]]


def test_images_of_many_digits_are_few() -> None:
    """Six digits of two have 720 orders, of which some are taken, each one once."""
    network = replace(RankNetwork.full(64), shape=(2,) * 6)
    images = network.images(5, network.message_ps())
    assert len(images) == len(np.unique(images, axis=0)) == 48
    assert images[0].tolist() == list(range(64))
    assert (images[:, 5] == 5).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_whole_shares_are_as_good_as_rounding(
    trees: int, units: int, seed: int
) -> None:
    """They add up, and no step's busiest links last longer than those of rounding."""
    random = np.random.default_rng(seed)
    load = random.integers(0, 4, (trees, 2, 3)).astype(np.float64)
    load[:, :, 0] += 1
    _, _, share = divided(load)
    rounded = np.diff(np.rint(np.cumsum(share) / share.sum() * units), prepend=0)
    whole = whole_shares(load, share, units)
    assert whole.min() >= 0
    assert whole.sum() == units

    def longest(count: npt.NDArray[np.number]) -> float:
        return float(np.tensordot(count, load, 1).max(axis=1).sum())

    assert longest(whole) <= longest(rounded) + 1e-6


def test_translated_trees_that_are_images_divide_a_block_evenly() -> None:
    """The best time to the ps on a torus: images of one tree take an eighth each."""
    instance = load_instance("torus-64/all-gather-4MiB")
    found = synthesise(instance, "packed-trees", {"steps": 5})
    assert found.objective == 20_908_000


@pytest.mark.parametrize(
    ("name", "us", "before_us"),
    [
        pytest.param("torus-16/broadcast-256KiB", 4.35, 5.36, marks=pytest.mark.slow),
        pytest.param("torus-16/reduce-1MiB", 10.5, 13.04, marks=pytest.mark.slow),
        ("bcube-16/broadcast-256KiB", 4.15, 4.472),
        ("topoopt-16/all-reduce-256KiB", 5.0, 5.232),
        pytest.param("topoopt-16/broadcast-4MiB", 27.7, 30.228, marks=pytest.mark.slow),
    ],
)
def test_few_steps_beat_levels(name: str, us: float, before_us: float) -> None:
    """By so much at least; the other algorithms took what is said last."""
    found = synthesise(load_instance(name))
    assert found.incumbent is not None
    assert found.objective is not None
    assert found.incumbent.schedule.algorithm.name == "packed-trees"
    assert found.objective <= us * 10**6 < before_us * 10**6
    assert verify(found.incumbent.schedule).valid
