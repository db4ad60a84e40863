"""Prices of resources: no schedule pays less; fabrics of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Collective, Demand
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import Instance
from lightloom.replay import replay
from lightloom.synth.bounds import find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.testing.strategies import schedules
from lightloom.validate.certificates.completion_time import proven_ps
from lightloom.validate.certificates.completion_time.prices import SharedWays
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

RING = Ring(nodes=6, wavelengths=4, directions=2, reach=3)
GRID = Ring2d(rows=3, cols=4, row_wavelengths=6, column_wavelengths=6, directions=2)
SHARED = (
    RING,
    Ring(nodes=5, wavelengths=3),
    GRID,
    Lightpath(rows=2, cols=3, waveguides=1, lasers=2),
    Sipac(radix=3),
    Sipac(radix=2, level=2, switching="fixed"),
)


def _own_count(fabric: AnyFabric) -> int:
    """Return how many resources of its own a fabric has, in the first few numbers."""
    if isinstance(fabric, SharedWays):
        return len(fabric.shared_lanes())
    if isinstance(fabric, PacketFabric):
        ends = np.nonzero(~np.eye(fabric.node_count, dtype=np.bool_))
        links = fabric.link_usage(ends[0].astype(np.int64), ends[1].astype(np.int64))
        return int(links.resource.max(initial=-1)) + 1
    return 0


def _drawn(fabric: AnyFabric, data: st.DataObject) -> Witness:
    """Return some prices of ports and own resources."""
    count = 2 * fabric.node_count + _own_count(fabric)
    named = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    prices = st.integers(0, 5)
    return {"resources": named, "prices": [data.draw(prices) for _ in named]}


@settings(max_examples=80, deadline=None)
@given(schedules(), st.data())
def test_no_schedule_pays_less(made: Schedule, data: st.DataObject) -> None:
    """Random schedules of all tasks take at least what any prices prove."""
    fabric = load_fabric(made.fabric)
    try:
        proven = proven_ps("prices", fabric, made.task, _drawn(fabric, data))
    except WitnessError:
        return  # a link that no pair crosses, or a fabric that carries nothing
    assert proven <= replay(made).completion_time_ps


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(SHARED),
    st.sampled_from(["all-reduce", "all-gather", "broadcast", "scatter", "all-to-all"]),
    st.sampled_from([1, 10**4, 10**7]),
    st.data(),
)
def test_no_collective_pays_less(
    fabric: AnyFabric, op: str, block_bytes: int, data: st.DataObject
) -> None:
    """Nor do the schedules that are made for some of the nodes, which forward."""
    order = data.draw(st.permutations(range(fabric.node_count)))
    nodes = tuple(order[: data.draw(st.integers(2, fabric.node_count))])
    if isinstance(fabric, Sipac | Ring2d):
        nodes = tuple(range(fabric.node_count))
    task = Collective(op, nodes, block_bytes * len(nodes))
    made = synthesise(Instance(fabric, task, "a test"))
    assert made.objective is not None
    for _ in range(5):
        witness = _drawn(fabric, data)
        assert proven_ps("prices", fabric, task, witness) <= made.objective


@pytest.mark.parametrize("fabric", SHARED, ids=lambda fabric: fabric.kind)
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_ways_are_no_cheaper_than_said(fabric: SharedWays, data: st.DataObject) -> None:
    """More circuits never pay more, and ways in a row never less than the whole."""
    count = len(fabric.shared_lanes())
    price = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    )
    nodes = fabric.node_count  # type: ignore[attr-defined]
    src, dst = (each.reshape(-1) for each in np.indices((nodes, nodes)))
    one, two, more = (
        fabric.cheapest(price, src, dst, circuits).reshape(nodes, nodes)
        for circuits in (1, 2, None)
    )
    assert (more <= two).all()
    assert (two <= one).all()
    assert (more[:, None, :] <= more[:, :, None] + more[None, :, :]).all()
    away = ~np.eye(nodes, dtype=np.bool_)
    assert (price.sum() >= more[away]).all()


def test_spans_of_a_lit_ring_are_paid_for() -> None:
    """One circuit pays for its spans, the shorter way or what is within reach."""
    price = np.array([1, 2, 4, 8, 16, 32, 1, 1, 1, 1, 1, 1])
    src, dst = np.array([0, 0, 0]), np.array([2, 4, 3])
    assert RING.cheapest(price, src, dst, 1).tolist() == [3, 2, 3]
    assert RING.cheapest(price, src, dst).tolist() == [3, 2, 3]
    # Five spans are out of reach, so one circuit takes the dear way.
    assert RING.cheapest(price, np.array([5]), np.array([0]), 1).tolist() == [32]
    assert RING.cheapest(price, np.array([5]), np.array([0])).tolist() == [5]


@pytest.mark.parametrize("op", ["all-gather", "all-reduce", "broadcast", "reduce"])
def test_large_collectives_are_grouped(op: str) -> None:
    """Of 1,024 tiles, half of them behind one waveguide, two groups are left."""
    rack = Lightpath(rows=2, cols=512, wafer_rows=2, wafer_cols=256, fibers=1, lasers=4)
    root = 0 if op in ("broadcast", "reduce") else None
    task = Collective(op, tuple(range(1024)), 2**30, None, root)
    tail, head = rack.edges()
    half = np.arange(1024) % 512 >= 256
    half = half if op != "reduce" else ~half
    enters = half[head] & ~half[tail]
    edges = (2048 + rack.edge_ids(tail[enters], head[enters])).tolist()
    witness: Witness = {"resources": edges, "prices": [1] * len(edges)}
    crossing = 2**29 if op == "all-gather" else 2**30
    assert proven_ps("prices", rack, task, witness) >= transmission_ps(
        crossing, 2 * rack.node_bits_per_s
    )


@pytest.mark.parametrize(
    ("fabric", "witness"),
    [
        (RING, {"resources": [], "prices": []}),
        (RING, {"resources": [0], "prices": [1, 1]}),
        (RING, {"resources": [0, 0], "prices": [1, 1]}),
        (RING, {"resources": [-1], "prices": [1]}),
        (RING, {"resources": [24], "prices": [1]}),
        (RING, {"resources": [12], "prices": [-1]}),
        (RING, {"resources": [12], "prices": [2**24 + 1]}),
        (RING, {"resources": [0], "prices": [1], "crowd": [1]}),
        (RING, {"resources": [12], "prices": [1], "crowd": []}),
        (RING, {"resources": [12], "crowd": [1]}),
        (RING, {"resources": [12], "prices": [1], "more": 1}),
        (Ramp(groups=2, racks=2, nodes_per_rack=2), {"resources": [24], "prices": [1]}),
        (IdealSwitch(nodes=6), {"resources": [24], "prices": [1]}),
        (Sipac(radix=3), {"resources": [18], "prices": [1], "crowd": [1]}),
    ],
)
def test_wrong_witnesses_are_refused(fabric: AnyFabric, witness: Witness) -> None:
    """Resources that there are none, named twice; prices below 0; other keys."""
    demand = Demand.from_rows([(0, 1, 5), (1, 2, 7)])
    with pytest.raises(WitnessError):
        proven_ps("prices", fabric, demand, witness)


class Lanes(msgspec.Struct, frozen=True, kw_only=True):
    """A fabric of one's own: all circuits share a few lanes of one cable."""

    plane_count: ClassVar[int] = 1
    ports_per_node: ClassVar[int] = 4
    circuit_columns: ClassVar[tuple[str, ...]] = ()
    initial_configuration_charged: ClassVar[bool] = True
    dark_while_reconfiguring: ClassVar[str] = "plane"
    alpha_ps: ClassVar[int] = 1000
    reconfiguration_ps: ClassVar[int] = 5000
    bits_per_second_per_wavelength: ClassVar[int] = 10**11

    kind: str = "lanes"
    nodes: int = 6
    lanes: int = 3

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.nodes

    @property
    def node_bits_per_s(self) -> int:
        """Four circuits of a node."""
        return 4 * 10**11

    def shared_lanes(self) -> IntArray:
        """Return the lanes of the cable."""
        return np.array([self.lanes])

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return the price of the cable, but from a node to itself."""
        del circuits, nodes
        return np.where(src == dst, 0, prices[0])

    def circuit_faults(self, circuits: object) -> list[object]:
        """Return nothing."""
        del circuits
        return []

    usage = capacity = resource_rule = resource_name = circuit_faults
    circuit_bits_per_s = table = circuit_faults


@pytest.mark.parametrize(
    ("task", "crossing"),
    [
        (Collective("all-to-all", tuple(range(6)), 6 * 10**9), 30 * 10**9),
        (Collective("all-gather", tuple(range(6)), 6 * 10**9), 30 * 10**9),
        (Collective("all-reduce", tuple(range(6)), 6 * 10**9), 60 * 10**9),
        (Demand.from_rows([(0, 1, 5 * 10**9), (2, 3, 7 * 10**9)]), 12 * 10**9),
    ],
)
def test_a_fabric_of_ones_own_has_bounds_by_its_resources(
    task: Task, crossing: int
) -> None:
    """What crosses the cable takes its few lanes, not the many ports of nodes."""
    cable = Lanes()
    bound = find_bound("prices", cable, task)  # type: ignore[arg-type]
    assert bound is not None
    assert bound.witness == {"resources": [12], "prices": [1]}
    assert int(bound.bound) >= transmission_ps(crossing, 3 * 10**11)
