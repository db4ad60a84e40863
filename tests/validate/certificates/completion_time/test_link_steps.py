"""Bounds on packet fabrics: known to the picosecond, never above a schedule."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.task import Collective, Demand
from lightloom.core.units import MIB, transmission_ps
from lightloom.instances.catalogue import load_instance
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_forwarding import TopoOpt, Torus
from lightloom.instances.fabrics.packet_tiers import FatTree, IdealSwitch, SuperPod
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import AnyFabric, Instance
from lightloom.synth.bounds import all_bounds, find_bound
from lightloom.synth.bounds.link_prices import stream_witness
from lightloom.synth.synthesise import synthesise
from lightloom.validate.certificates.completion_time import proven_ps
from lightloom.validate.certificates.completion_time.link_steps import FLOWS
from lightloom.validate.certificates.completion_time.message_costs import (
    distances,
    distances_to,
    gossip_cost,
    tree_costs,
)
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray

SWITCH = IdealSwitch(nodes=3)
POD = SuperPod(nodes=4, gpus_per_server=2)
FABRICS: tuple[AnyFabric, ...] = (
    SWITCH,
    POD,
    SuperPod(nodes=5, gpus_per_server=2, servers_per_unit=1, oversubscription=2),
    Torus(rows=2, cols=3, alpha_ps=0),
    TopoOpt(nodes=7, degree=2),
    FatTree(nodes=5, nodes_per_leaf=2, oversubscription=2),
)


def _bound_us(name: str, kind: str) -> float:
    instance = load_instance(name)
    found = find_bound(kind, instance.fabric, instance.communication)
    assert found is not None
    return int(found.bound) / 10**6


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(FABRICS), st.data())
def test_a_demand_takes_as_long_as_its_busiest_link(
    fabric: AnyFabric, data: st.DataObject
) -> None:
    """One step suffices, so the bound is met to the rounding of shared rates."""
    assert isinstance(fabric, PacketFabric)
    node = st.integers(0, fabric.node_count - 1)
    pairs = data.draw(
        st.sets(
            st.tuples(node, node).filter(lambda ends: ends[0] != ends[1]), min_size=1
        )
    )
    sizes = st.integers(1, 10**9)
    rows = [(src, dst, data.draw(sizes)) for src, dst in sorted(pairs)]
    demand = Demand.from_rows(rows)
    bound = find_bound("prices", fabric, demand)
    assert bound is not None
    load: dict[int, int] = {}
    for src, dst, size_bytes in rows:
        for link in fabric.link_usage(
            np.array([src]), np.array([dst])
        ).resource.tolist():
            load[link] = load.get(link, 0) + size_bytes
    longest_ps = max(
        transmission_ps(size_bytes, int(fabric.link_bits_per_s(np.array([link]))[0]))
        for link, size_bytes in load.items()
    )
    assert bound.bound == step_ps(fabric) + longest_ps
    made = synthesise(Instance(fabric, demand, "a test"))
    assert made.objective is not None
    assert bound.bound <= made.objective <= bound.bound + 2
    assert made.bound == bound.bound


def _costs(ranks: int) -> st.SearchStrategy[IntArray]:
    """Return costs of messages between so many ranks, 0 on the diagonal."""

    def matrix(values: list[int]) -> IntArray:
        cost = np.array(values, dtype=np.int64).reshape(ranks, ranks)
        np.fill_diagonal(cost, 0)
        return cost

    costs = st.integers(0, 9)
    return st.lists(costs, min_size=ranks**2, max_size=ranks**2).map(matrix)


@pytest.mark.parametrize(
    ("name", "kind", "bound_us"),
    [
        ("superpod-64/all-gather-256MiB", "prices", 1492.344001),
        ("superpod-64/all-reduce-256MiB", "prices", 2983.288001),
        ("topoopt-64/all-to-all-256MiB", "prices", 3919.762948),
        ("torus-64/all-to-all-256MiB", "prices", 4195.004),
        ("fat-tree-64/all-to-all-64KiB", "prices", 1.596),
        ("torus-16/all-reduce-64KiB", "link-steps", 2.424),
        ("torus-16/broadcast-64KiB", "link-steps", 2.424),  # what is built
        ("sipac-16/all-reduce-16KiB", "link-steps", 1.784001),
        ("sipac-16/reduce-16KiB", "link-steps", 1.784001),  # 1.784002 us are built
    ],
)
def test_known_bounds(name: str, kind: str, bound_us: float) -> None:
    """Cuts of servers, hops by class and streams out of a root.

    On a torus two steps of an all-reduce send all data to one rank and back.
    """
    assert _bound_us(name, kind) == bound_us


@pytest.mark.parametrize(
    ("name", "bound_us"),
    [
        ("superpod-64/broadcast-256MiB", 1768.488062),
        ("bcube-64/reduce-4MiB", 23.798583),
    ],
)
def test_known_bounds_of_streams(name: str, bound_us: float) -> None:
    """What leaves a root late, of any number of steps, without tables."""
    instance = load_instance(name)
    fabric, task = instance.fabric, instance.communication
    assert isinstance(fabric, PacketFabric)
    assert isinstance(task, Collective)
    witness = stream_witness(fabric, task)
    assert witness is not None
    assert proven_ps("link-stream", fabric, task, witness) / 10**6 == bound_us


@pytest.mark.parametrize(
    ("name", "least_us"),
    [
        ("superpod-16/scatter-1MiB", 6.037),  # 6.038 us are built
        ("superpod-16/broadcast-1MiB", 11.9),  # 12.32
        ("superpod-16/reduce-16MiB", 116.2),  # 116.77
        ("torus-16/broadcast-1MiB", 9.6),  # 10.34
        ("sipac-16/reduce-64KiB", 2.67),  # 2.868
        ("topoopt-64/reduce-256KiB", 4.34),  # 5.08; by rough places
    ],
)
def test_bounds_of_many_steps(name: str, least_us: float) -> None:
    """Ports of a server are idle until NVLink has brought them something to send.

    What leaves a root in the last of many steps does not reach all.
    """
    assert _bound_us(name, "link-steps") >= least_us


@given(st.integers(1, 7).flatmap(_costs))
def test_ways_to_one_rank_are_a_column_of_all_ways(cost: IntArray) -> None:
    """Also where messages are free, and ways of many messages are the cheapest."""
    for rank in range(len(cost)):
        assert (distances_to(cost, rank) == distances(cost)[:, rank]).all()


@pytest.mark.parametrize("op", ["all-to-all", "gather", "reduce-scatter", "scatter"])
def test_one_step_is_known_exactly(op: str) -> None:
    """On an ideal switch these take what the direct schedule takes."""
    task = Collective(op, (0, 1, 2), 3 * MIB)
    found = find_bound("prices", SWITCH, task)
    assert found is not None
    assert found.bound == SWITCH.alpha_ps + transmission_ps(
        2 * MIB, SWITCH.node_bits_per_s
    )


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_no_schedule_beats_them(data: st.DataObject) -> None:
    """Whatever the fabric, the nodes and the root, certificates stay below replay."""
    fabric = data.draw(st.sampled_from(FABRICS))
    count = fabric.node_count
    order = data.draw(st.permutations(range(count)))
    nodes = tuple(order[: data.draw(st.integers(2, count))])
    op = data.draw(st.sampled_from(sorted(COLLECTIVES)))
    rooted = op in ("broadcast", "gather", "reduce", "scatter")
    root = data.draw(st.sampled_from(nodes)) if rooted else None
    size_bytes = len(nodes) * data.draw(st.sampled_from([4, 4096, 10**6]))
    task = Collective(op, nodes, size_bytes, None, root)
    found = synthesise(Instance(fabric, task, "a test")).objective
    assert found is not None
    for certificate in all_bounds(fabric, task).values():
        assert certificate.bound <= found, certificate


def _cheapest_tree(cost: IntArray, root: int) -> int:
    """Return the cost of the cheapest tree from a root, by trying all parents."""
    ranks = len(cost)
    best = None
    for parents in itertools.product(range(ranks), repeat=ranks):
        for start in range(ranks):
            seen, now = set(), start
            while now != root and now not in seen:
                seen.add(now)
                now = parents[now]
            if now != root:
                break
        else:
            total = sum(int(cost[parents[v], v]) for v in range(ranks) if v != root)
            best = total if best is None else min(best, total)
    assert best is not None
    return best


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=16, max_size=16))
def test_trees_by_brute_force(values: list[int]) -> None:
    """With one source the cheapest tree is found; for all at once never more."""
    cost = np.array(values, dtype=np.int64).reshape(4, 4)
    np.fill_diagonal(cost, 0)
    shared = tree_costs(cost)
    for root in range(4):
        cheapest = _cheapest_tree(cost, root)
        assert tree_costs(cost, root)[root] == cheapest
        assert shared[root] <= cheapest


def test_gossip_of_equals() -> None:
    """Four ranks at distance one need six messages; two pairs at distance none, two."""
    apart = np.ones((4, 4), dtype=np.int64) - np.eye(4, dtype=np.int64)
    assert gossip_cost(apart) == 6
    pairs = apart * (np.arange(4)[:, None] // 2 != np.arange(4) // 2)
    assert gossip_cost(pairs) == 2


_LINE = Torus(rows=1, cols=4, alpha_ps=1000)
_SUM = Collective("all-reduce", (0, 1, 2, 3), 4 * MIB)


def _changed(key: str, value: list[int]) -> Witness:
    """Return the witness of an all-reduce on a ring, with one value changed."""
    found = find_bound("link-steps", _LINE, _SUM)
    assert found is not None
    return {**found.witness, key: value}


def _numbers(key: str) -> IntArray:
    """Return numbers of that witness."""
    found = find_bound("link-steps", _LINE, _SUM)
    assert found is not None
    return np.array(found.witness[key])


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_a_potential_that_lifts_too_much_is_refused(data: st.DataObject) -> None:
    """One that is far too high: data rise by waiting, or for too little length."""
    potentials = _numbers("potentials")
    potentials[data.draw(st.integers(0, len(potentials) - 1))] += 10**6
    changed = _changed("potentials", potentials.tolist())
    try:
        proven = proven_ps("link-steps", _LINE, _SUM, changed)
    except WitnessError:
        return
    found = find_bound("link-steps", _LINE, _SUM)
    assert found is not None
    assert proven <= found.bound


def test_lengths_that_are_too_short_are_refused() -> None:
    """What fits lengths to the unit does not fit shorter ones."""
    lengths = _numbers("lengths")
    for place in range(len(lengths)):
        short = lengths - (np.arange(len(lengths)) == place) * (lengths // 10 + 1)
        with pytest.raises(WitnessError):
            proven_ps("link-steps", _LINE, _SUM, _changed("lengths", short.tolist()))


def test_lengths_of_long_spans_are_checked_at_both_ends() -> None:
    """Many steps have potentials at few times; the lengths between fit as tightly."""
    fabric = Torus(rows=1, cols=4, alpha_ps=10**5)
    task = Collective("broadcast", (0, 1, 2, 3), 16 * MIB)
    found = find_bound("link-steps", fabric, task)
    assert found is not None
    assert np.diff(np.array(found.witness["times"])).max() > 1
    lengths = np.array(found.witness["lengths"])
    for place in np.flatnonzero(lengths > lengths.max() // 4)[-9:].tolist():
        short = lengths - (np.arange(len(lengths)) == place) * (lengths // 10 + 1)
        with pytest.raises(WitnessError):
            proven_ps(
                "link-steps", fabric, task, {**found.witness, "lengths": short.tolist()}
            )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shape", [3]),
        ("shape", [-1, -4]),
        ("times", []),
        ("times", [1, 2]),
        ("times", [0, 2, 1]),
        ("times", [0, 0, 2]),
        ("times", [0, 1]),
        ("times", [0, 2**20]),
        ("links", [0]),
        ("groups", [-1]),
        ("places", [0]),
        ("places", [16] * 16),
        ("places", [-1] * 16),
        ("lengths", []),
        ("potentials", []),
        ("all_links", []),
    ],
)
def test_tables_of_other_steps_are_refused(key: str, value: list[int]) -> None:
    """Boxes that the ring is none of, and rows that do not fit the steps."""
    with pytest.raises(WitnessError):
        proven_ps("link-steps", _LINE, _SUM, _changed(key, value))


@pytest.mark.parametrize("op", sorted(FLOWS))
@pytest.mark.parametrize(("radix", "level"), [(2, 1), (2, 2), (3, 1)])
def test_no_schedule_on_sipac_beats_them(op: str, radix: int, level: int) -> None:
    """Whatever the size; two and three digits, by the shuffle and tuned."""
    for switching in ("fixed", "tunable"):
        fabric = Sipac(radix=radix, level=level, switching=switching)
        nodes = tuple(range(fabric.node_count))
        root = 1 if FLOWS[op].rooted else None
        for block_bytes in (2**7, 2**13, 2**17):
            task = Collective(op, nodes, len(nodes) * block_bytes, None, root)
            found = synthesise(Instance(fabric, task, "a test")).objective
            bound = find_bound("link-steps", fabric, task)
            assert found is not None
            assert bound is not None
            assert bound.bound <= found


def test_tables_are_for_collectives_on_links() -> None:
    """Not for an all-to-all, nor for circuits."""
    witness = _changed("shape", [4])
    asked = Collective("all-to-all", (0, 1, 2, 3), 4 * MIB)
    with pytest.raises(WitnessError):
        proven_ps("link-steps", _LINE, asked, witness)
    with pytest.raises(WitnessError):
        proven_ps("link-steps", Lightpath(rows=1, cols=4), _SUM, witness)


def test_a_weaker_witness_proves_less() -> None:
    """Lengths that leave out a receiver prove less than the claim of all."""
    full = find_bound("prices", POD, Collective("all-gather", (0, 1, 2, 3), MIB))
    assert full is not None
    task = Collective("all-gather", (0, 1, 2, 3), MIB)
    part: Witness = {
        key: value[1:] for key, value in full.witness.items() if isinstance(value, list)
    }
    assert proven_ps("prices", POD, task, part) < full.bound
