"""Rings: the cheapest tree by brute force; prices and hops that prove, and do not."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.bounds import find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.ring_steps import (
    NEVER,
    RingTrees,
    rising_cost,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness

KIND = BOUND_KINDS["ring-steps"]


def _cheapest(
    nodes: int,
    reach: int,
    span: list[int],
    egress: list[int],
    directions: tuple[int, ...],
) -> int:
    """Return the least cost of telling all, over who is told after each step."""
    told = {frozenset([0]): 0}
    for price, more in zip(span, egress, strict=True):
        then = dict(told)
        for known, cost in told.items():
            least = {}
            for node in set(range(nodes)) - known:
                ways = []
                for source, way in itertools.product(known, directions):
                    crossed, at = [], source
                    while at != node:
                        crossed.append((at, (at + way) % nodes))
                        at = (at + way) % nodes
                    if len(crossed) <= reach:
                        paid = sum(
                            0 if head == 0 else price + more * (tail == 0)
                            for tail, head in crossed
                        )
                        ways.append(paid)
                if ways:
                    least[node] = min(ways)
            for count in range(1, len(least) + 1):
                for some in itertools.combinations(sorted(least), count):
                    now = cost + sum(least[node] for node in some)
                    key = known | set(some)
                    then[key] = min(now, then.get(key, NEVER))
        told = then
    return told.get(frozenset(range(nodes)), NEVER)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_tree_is_cheaper(data: st.DataObject) -> None:
    """For any prices that never fall and any of the root's spans, reach, directions."""
    nodes, steps = data.draw(st.integers(3, 6)), data.draw(st.integers(1, 5))
    reach = data.draw(st.integers(1, nodes))
    price = st.lists(st.integers(0, 9), min_size=steps, max_size=steps)
    span, egress = sorted(data.draw(price)), data.draw(price)
    for one_way in (False, True):
        trees = RingTrees.of(
            nodes, reach, np.array(span), np.array(egress), one_way=one_way
        )
        cost = min(NEVER, int(trees.first().min()))
        directions = (1,) if one_way else (1, -1)
        assert cost == _cheapest(nodes, reach, span, egress, directions)


@pytest.mark.parametrize(("nodes", "steps"), [(3, 2), (4, 3), (5, 4), (6, 5), (16, 30)])
def test_prices_that_rise_evenly_cost_no_less(nodes: int, steps: int) -> None:
    """The closed form against the cheapest tree of all."""
    for one_way in (False, True):
        cost, whole = rising_cost(nodes, steps, one_way=one_way)
        span = nodes - 3 + np.arange(1, steps + 1)
        egress = whole - (nodes - 1) * span
        trees = RingTrees.of(nodes, nodes, span, egress, one_way=one_way)
        assert cost <= int(trees.first().min())
        if nodes == 16:
            assert cost / whole > 1 + (nodes / 2 - 1) / (steps + nodes)


NEAR = {
    "ring-16/broadcast-64KiB": 0.14,
    "ring-16/reduce-4MiB": 0.07,
    "ring-64/broadcast-1GiB": 0.03,
}


@pytest.mark.parametrize("name", NEAR)
def test_broadcasts_on_rings_are_near_it(name: str) -> None:
    """Few steps, many, and more than any table speaks for."""
    made = synthesise(load_instance(name)).incumbent
    assert made is not None
    assert made.certificate is not None
    assert made.certificate.kind == "ring-steps"
    assert made.completion_time_ps <= made.certificate.bound * (1 + NEAR[name])


@pytest.mark.parametrize(
    ("witness", "message"),
    [
        ({"steps": [3], "prices": [0, 2, 1]}, "less than one before"),
        ({"steps": [3], "prices": [-1, 0, 1]}, "less than one before"),
        ({"steps": [1], "prices": [2**20 // 15 + 1]}, "more than 69905"),
        ({"steps": [2, 2], "prices": [1, 1, 1, 1]}, "ever more"),
        ({"steps": [2], "prices": [1]}, "as many as"),
        ({"steps": [200], "prices": [1] * 200}, "1 to 128"),
        ({}, "keys"),
    ],
)
def test_wrong_witnesses_are_refused(witness: Witness, message: str) -> None:
    """Prices that fall, or that nobody can pay; tables without order."""
    fabric = load_instance("ring-16/broadcast-1MiB").fabric
    task = Collective("broadcast", tuple(range(16)), 2**20)
    with pytest.raises(WitnessError, match=message):
        KIND.prove(fabric, task, witness)


def test_other_questions_are_refused() -> None:
    """Some of the nodes, gossip."""
    fabric = load_instance("ring-16/broadcast-1KiB").fabric
    nodes = tuple(range(16))
    for op, ranks in (("broadcast", nodes[:8]), ("all-gather", nodes)):
        task = Collective(op, ranks, 1024)
        assert find_bound("ring-steps", fabric, task) is None
        with pytest.raises(WitnessError, match="about broadcast"):
            KIND.prove(fabric, task, {"steps": [], "prices": []})


def test_no_table_at_all_proves_something() -> None:
    """Prices that rise evenly need no witness."""
    fabric = load_instance("ring-16/reduce-1KiB").fabric
    task = Collective("reduce", tuple(range(16)), 2**22)
    least = KIND.prove(fabric, task, {"steps": [], "prices": []})
    found = find_bound("ring-steps", fabric, task)
    assert found is not None
    assert 0.95 * found.bound < least <= found.bound


HOPS = BOUND_KINDS["ring-hops"]


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
    moving_ps = HOPS.prove(fabric, task, {}) - fabric.alpha_ps
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
