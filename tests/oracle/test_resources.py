"""Resources that fabrics count, against a count by hand from the specification."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.schedule import Segment
from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.testing.strategies import fabrics, schedules
from lightloom.testing.strategies.candidate_circuits import (
    LightPath,
    circuits_of,
    conceivable,
    faults_of,
)
from lightloom.validate.checks.circuits import overused
from tests.oracle.circuit_resources import CIRCUIT_KINDS, count
from tests.oracle.packet_links import PACKETS, network

if TYPE_CHECKING:
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Schedule

kinds_of_circuits = pytest.mark.parametrize("kind", CIRCUIT_KINDS)


def test_every_fabric_has_a_count() -> None:
    """A new kind of fabric is counted by hand, too."""
    assert sorted([*CIRCUIT_KINDS, *PACKETS]) == sorted(FABRICS)


def _draw_circuits(fabric: CircuitFabric, data: st.DataObject) -> list[LightPath]:
    """Return circuits that are sound one by one, whether or not they fit together."""
    nodes = fabric.node_count
    node = st.integers(0, nodes - 1)
    found: list[LightPath] = []
    for number in range(data.draw(st.integers(0, 8), label="circuits")):
        pair = data.draw(st.tuples(node, node), label="pair")
        choice = [] if pair[0] == pair[1] else list(conceivable(fabric, pair))
        faults = faults_of(fabric, choice)
        sound = [
            path for path, broken in zip(choice, faults, strict=True) if not broken
        ]
        if not sound:
            continue
        path = data.draw(st.sampled_from(sound), label="circuit")
        rows = [path]
        if "multicast" in fabric.circuit_columns and data.draw(st.booleans()):
            others = data.draw(st.sets(node, max_size=3)) - {*pair}
            path = replace(path, multicast=number)
            rows = [path, *(replace(path, dst=dst) for dst in sorted(others))]
        wider = [*found, *rows]
        if not any(faults_of(fabric, wider)):
            found = wider
    return found


def _counted(fabric: CircuitFabric, paths: list[LightPath]) -> Counter[object]:
    """Return (rule, taken, capacity) of every resource, as the fabric counts them."""
    usage = fabric.usage(circuits_of(fabric, paths))
    taken: Counter[int] = Counter()
    for resource, amount in zip(
        usage.resource.tolist(), usage.amount.tolist(), strict=True
    ):
        taken[resource] += amount
    numbers = np.array(list(taken), dtype=np.int64)
    capacity = fabric.capacity(numbers).tolist()
    return Counter(
        (fabric.resource_rule(number), taken[number], there)
        for number, there in zip(numbers.tolist(), capacity, strict=True)
    )


@kinds_of_circuits
def test_circuits_take_what_is_counted_by_hand(kind: str) -> None:
    """As many resources of each rule, each taken as often, of as many there are."""

    @settings(max_examples=120)
    @given(fabrics([kind]), st.data())
    def check(fabric: CircuitFabric, data: st.DataObject) -> None:
        paths = _draw_circuits(fabric, data)
        by_hand = count(dict(fabric.table()), paths)
        assert _counted(fabric, paths) == Counter(
            (rule, taken, there) for (rule, _), (taken, there) in by_hand.items()
        )

    check()


@kinds_of_circuits
def test_the_checker_reports_what_is_taken_too_often(kind: str) -> None:
    """It names the rule of each resource, and by how much it is overused."""

    @settings(max_examples=80)
    @given(fabrics([kind]), st.data())
    def check(fabric: CircuitFabric, data: st.DataObject) -> None:
        paths = _draw_circuits(fabric, data)
        segment = Segment(0, 0, circuits_of(fabric, paths))
        told = overused(fabric, segment, np.ones(len(paths), dtype=np.bool_))
        by_hand = count(dict(fabric.table()), paths)
        assert Counter((each.rule, each.excess) for each in told) == Counter(
            (rule, taken - there)
            for (rule, _), (taken, there) in by_hand.items()
            if taken > there
        )

    check()


@kinds_of_circuits
def test_circuits_of_valid_schedules_fit(kind: str) -> None:
    """No segment of a random valid schedule overuses a resource, counted by hand."""

    @settings(max_examples=25)
    @given(schedules([kind]))
    def check(schedule: Schedule) -> None:
        table = dict(schedule.fabric)
        for segment in schedule.segments:
            by_hand = count(table, _paths(segment))
            assert all(taken <= there for taken, there in by_hand.values())

    check()


def _paths(segment: Segment) -> list[LightPath]:
    """Return the rows of a segment, one by one."""
    circuits = segment.circuits
    return [
        LightPath(
            int(circuits.src[row]),
            int(circuits.dst[row]),
            () if circuits.wavelengths is None else tuple(circuits.wavelengths[row]),
            () if circuits.route is None else tuple(circuits.route[row]),
            0 if circuits.direction is None else int(circuits.direction[row]),
            0 if circuits.transceiver is None else int(circuits.transceiver[row]),
            -1 if circuits.multicast is None else int(circuits.multicast[row]),
        )
        for row in range(len(circuits))
    ]


@pytest.mark.parametrize("kind", PACKETS)
def test_packets_cross_the_links_of_their_way(kind: str) -> None:
    """As many links, each crossed as often and as fast, as when walked one by one."""

    @settings(max_examples=60)
    @given(fabrics([kind]), st.data())
    def check(fabric: object, data: st.DataObject) -> None:
        node = st.integers(0, fabric.node_count - 1)  # type: ignore[attr-defined]
        rows = data.draw(st.lists(st.tuples(node, node), max_size=10))
        rows = [(src, dst) for src, dst in rows if src != dst]
        way = network(dict(fabric.table())).way  # type: ignore[attr-defined]
        by_hand: Counter[object] = Counter()
        for pair in rows:
            by_hand.update(way(*pair))
        src, dst = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        usage = fabric.link_usage(src, dst)  # type: ignore[attr-defined]
        crossed = Counter(usage.resource.tolist())
        numbers = np.array(list(crossed), dtype=np.int64)
        rates = fabric.link_bits_per_s(numbers).tolist()  # type: ignore[attr-defined]
        assert Counter(zip(crossed.values(), rates, strict=True)) == Counter(
            (times, rate) for (_, rate), times in by_hand.items()
        )

    check()


def test_a_count_by_hand() -> None:
    """Two wavelengths over an edge of one waveguide; a third circuit on one of them."""
    fabric = load_fabric(
        {"kind": "lightpath", "rows": 1, "cols": 3, "lasers": 2, "waveguides": 1}
    )
    paths = [LightPath(0, 2, (0, 1), (0, 1, 2)), LightPath(1, 2, (0,), (1, 2))]
    by_hand = count(dict(fabric.table()), paths)
    assert by_hand["waveguides", (1, 2, 0)] == [2, 1]
    assert by_hand["photodiodes", (2, 0)] == [2, 1]
    assert sum(taken for taken, _ in by_hand.values()) == 11
