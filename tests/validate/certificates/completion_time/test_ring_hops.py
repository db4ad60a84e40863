"""Ring hops: trees of few hops round a ring, by brute force, and what it proves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.ring_steps import RingTrees

KIND = BOUND_KINDS["ring-hops"]


def _least_spans(nodes: int, ways: int, hops: int) -> int | None:
    """Return the fewest spans of a tree of so many hops, over all trees."""
    best: int | None = None
    for parents in itertools.product(range(nodes), repeat=nodes - 1):
        parent = dict(enumerate(parents, 1))
        total = 0
        for node, before in parent.items():
            ahead = (node - before) % nodes
            total += ahead if ways == 1 else min(ahead, nodes - ahead)
            at, depth = node, 0
            while at and depth <= hops:
                at, depth = parent[at], depth + 1
            if at or depth > hops:
                break
        else:
            best = total if best is None else min(best, total)
    return best


@pytest.mark.parametrize("ways", [1, 2])
@pytest.mark.parametrize("nodes", [3, 4, 5, 6])
def test_no_tree_of_few_hops_crosses_fewer_spans(nodes: int, ways: int) -> None:
    """One tree a byte, at no cost a step: the bound is what the best of them takes."""
    fabric = Ring(
        nodes=nodes,
        wavelengths=1,
        bits_per_second_per_wavelength=8 * 10**12,
        directions=ways,
        reach=nodes,
        alpha_ps=10**9,
        reconfiguration_ps=0,
    )
    # With an alpha that dear the fewest steps are the best: bytes cross most spans.
    task = Collective("broadcast", tuple(range(nodes)), 60 * nodes * ways)
    moving_ps = KIND.prove(fabric, task, {}) - fabric.alpha_ps
    spans = moving_ps * nodes * ways / task.buffer_bytes
    fewest = _least_spans(nodes, ways, 1)
    assert fewest is not None
    assert nodes - 1 <= spans <= fewest
    for hops in range(1, nodes):
        least = _least_spans(nodes, ways, hops)
        assert least is not None
        assert least >= nodes - 1 + max(0, nodes - 1 - ways * hops)
        if ways == 2:
            once = np.ones(hops, dtype=np.int64)
            trees = RingTrees.of(nodes, nodes, once, 0 * once)
            assert int(trees.first().min()) == least


def test_large_gossip_on_rings_is_proven_optimal() -> None:
    """Both ways round, blocks that are equally far in halves."""
    for name in ("ring-16/all-gather-64MiB", "ring-64/reduce-scatter-1GiB"):
        made = synthesise(load_instance(name)).incumbent
        assert made is not None
        assert made.certificate is not None
        assert made.certificate.kind == "ring-hops"
        assert made.completion_time_ps == made.certificate.bound
