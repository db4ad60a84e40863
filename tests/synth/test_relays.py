"""Demands on optical switches whose bytes may take two circuits."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from tests.oracle.circuit_agreement import agree_on_circuits

US = 1_000_000


def switches(nodes: int, count: int, **keys: int | bool | str) -> Ocs:
    """Return switches of 25 GB/s a port, as in the table of docs/switches.md."""
    table = {
        "kind": "ocs",
        "nodes": nodes,
        "switches": count,
        "bits_per_second_per_node": count * 200_000_000_000,
        "reconfiguration_ps": 200 * US,
        "alpha_ps": 20 * US,
        **keys,
    }
    fabric = load_fabric(table)
    assert isinstance(fabric, Ocs)
    return fabric


def everybody(nodes: int, size: int, *, relays: bool) -> Demand:
    """Return the same bytes from each to each."""
    rows = [(a, b, size) for a in range(nodes) for b in range(nodes) if a != b]
    return Demand.from_rows(rows, relays=relays)


def test_all_to_all_on_one_configuration() -> None:
    """16 nodes on 4 switches: d, 2 alpha, and 7 blocks of 163,840 ps, and no less.

    The busiest port carries 7 blocks of 4 KiB. Without relays it takes four
    configurations.
    """
    demand = everybody(16, 4096, relays=True)
    made = synthesise(Instance(switches(16, 4), demand), "relays").incumbent
    assert made is not None
    schedule = made.schedule
    assert verify(schedule).valid
    assert schedule.step_count == 2
    assert len(schedule.segments) == 4
    assert made.completion_time_ps == 200 * US + 2 * 20 * US + 7 * 163_840


def test_a_node_that_leads_on() -> None:
    """Three nodes, one switch: circuits 0 -> 1 -> 2 -> 0, a byte in a nanosecond."""
    fabric = Ocs(
        nodes=3,
        switches=1,
        bits_per_second_per_node=8_000_000_000,
        alpha_ps=1_000,
        reconfiguration_ps=1_000_000,
    )
    demand = Demand.from_rows([(0, 1, 1000), (0, 2, 500), (1, 2, 700)], relays=True)
    made = synthesise(Instance(fabric, demand)).incumbent
    assert made is not None
    assert made.schedule.algorithm.name == "relays"
    # The first circuit carries 1500 bytes, those of the relay in the first step.
    assert made.completion_time_ps == 1_000_000 + 2 * 1_000 + 1_500 * 1_000


@st.composite
def cases(draw: st.DrawFn) -> tuple[Ocs, Demand]:
    """Draw small switches and demands that allow relays."""
    nodes = draw(st.integers(2, 6))
    fabric = switches(
        nodes,
        draw(st.integers(1, 3)),
        reconfiguration_ps=draw(st.sampled_from([0, US, 100 * US])),
        initial_configuration_charged=draw(st.booleans()),
        dark_while_reconfiguring=draw(st.sampled_from(["plane", "changed-circuits"])),
    )
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    sizes = st.sampled_from([1, 7, 4096, 10**6, 10**9])
    rows = [(*pair, draw(sizes)) for pair in chosen]
    return fabric, Demand.from_rows(rows, relays=True)


@settings(max_examples=6, deadline=None)
@given(cases())
def test_relays_are_valid_and_never_slower(case: tuple[Ocs, Demand]) -> None:
    """All that is made verifies; the best is no slower than without relays.

    Replay is what the naive simulation steps through.
    """
    fabric, demand = case
    made = synthesise(Instance(fabric, demand)).incumbent
    straight = Demand(demand.src, demand.dst, demand.bytes)
    without = synthesise(Instance(fabric, straight)).incumbent
    assert made is not None
    assert without is not None
    assert made.completion_time_ps <= without.completion_time_ps
    for other in ("relays", "auto"):
        told = synthesise(Instance(fabric, demand), other).incumbent
        assert told is not None
        assert verify(told.schedule).valid
        agree_on_circuits(told.schedule)


def test_relays_have_to_be_allowed() -> None:
    """The algorithm is refused by name, and left out of `auto`, where they are not."""
    demand = everybody(4, 4096, relays=False)
    instance = Instance(switches(4, 1), demand)
    with pytest.raises(InputError, match="does not allow relays"):
        synthesise(instance, "relays")
    made = synthesise(instance).incumbent
    assert made is not None
    assert "relays" not in {one.algorithm for one in made.compared}


def test_other_fabrics_serve_such_demands_straight() -> None:
    """A ring answers a demand that allows relays as one that does not."""
    fabric = Ring(nodes=4, wavelengths=4)
    times = []
    for relays in (False, True):
        made = synthesise(Instance(fabric, everybody(4, 10**6, relays=relays)))
        assert made.incumbent is not None
        assert verify(made.incumbent.schedule).valid
        times.append(made.incumbent.completion_time_ps)
    assert times[0] == times[1]
