"""Demands whose bytes may take two circuits, on all fabrics with circuits."""

from itertools import permutations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.synth.relays import two_rounds
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


NEAR = Ring(
    nodes=8,
    wavelengths=4,
    directions=2,
    reach=2,
    alpha_ps=50 * US,
    reconfiguration_ps=0,
)
"""A byte takes 80 ps on all wavelengths of a direction."""


def test_a_pair_out_of_reach_is_relayed() -> None:
    """On a ring of reach 2 a pair 3 apart takes two steps; one 5 apart has no answer.

    More steps in a pipeline would cost more than they save.
    """
    demand = Demand.from_rows([(0, 3, 10**6)], relays=True)
    for name in ("auto", "relays"):
        made = synthesise(Instance(NEAR, demand), name).incumbent
        assert made is not None
        assert verify(made.schedule).valid
        assert made.schedule.algorithm.name == "relays"
        assert made.completion_time_ps == 2 * (50 * US + 80 * US)
    far = Demand.from_rows([(0, 3, 1)], relays=True)
    ring = replace(NEAR, reach=1)
    with pytest.raises(InfeasibleError) as refused:
        synthesise(Instance(ring, far))
    assert refused.value.exit_code == 4
    assert str(refused.value) == (
        "demand, row 0: no two circuits lead from end to end, and bytes of a demand"
        " take two at most; found '0 -> 3'; send over a node in between in two"
        " demands, one after the other, or state the task as a collective"
    )


def test_relays_send_on_while_they_receive() -> None:
    """Where steps cost little, k pieces follow one another in k + 1 steps."""
    demand = Demand.from_rows([(0, 3, 8 * 10**6)], relays=True)
    ring = replace(NEAR, alpha_ps=US)
    made = synthesise(Instance(ring, demand)).incumbent
    assert made is not None
    assert verify(made.schedule).valid
    agree_on_circuits(made.schedule)
    steps = made.schedule.step_count
    assert steps == 17
    assert made.completion_time_ps == steps * US + 640 * US * steps // (steps - 1)


def test_a_demand_between_levels_takes_what_the_collective_takes() -> None:
    """All to all on SiPAC and on a 2D ring, where most pairs share no circuit."""
    tables: tuple[dict[str, int | str], ...] = (
        {"kind": "sipac", "radix": 4},
        {"kind": "ring-2d", "rows": 4, "cols": 4}
        | {"row_wavelengths": 8, "column_wavelengths": 8},
    )
    for table in tables:
        fabric = load_fabric(table)
        task = Collective("all-to-all", buffer_bytes=16 * 10**5)
        wanted = synthesise(Instance(fabric, task)).incumbent
        made = synthesise(Instance(fabric, everybody(16, 10**5, relays=True))).incumbent
        assert made is not None
        assert wanted is not None
        assert verify(made.schedule).valid
        assert made.completion_time_ps <= wanted.completion_time_ps * 1.0001


def test_too_many_ways_are_shared_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the linear program would be too large, both corners of a 2D ring relay."""
    monkeypatch.setattr(two_rounds, "_MOST_WAYS", 1)
    table: dict[str, object] = {"kind": "ring-2d", "rows": 2, "cols": 2}
    table |= {"row_wavelengths": 2, "column_wavelengths": 2, "alpha_ps": 10**9}
    demand = Demand.from_rows([(0, 3, 10**6)], relays=True)
    made = synthesise(Instance(load_fabric(table), demand)).incumbent
    assert made is not None
    assert verify(made.schedule).valid
    # 25 us, 2 alpha, and half of the bytes twice on two wavelengths of 25 Gbit/s.
    assert made.completion_time_ps == 25 * US + 2 * 10**9 + 2 * 80 * US


def test_a_hot_pair_of_fixed_switches_spreads_over_relays() -> None:
    """Three wavelengths lead from a port, one to each peer: all carry the pair."""
    fabric = load_fabric({"kind": "sipac", "radix": 4, "switching": "fixed"})
    times = []
    for relays in (False, True):
        demand = Demand.from_rows([(0, 1, 10**7)], relays=relays)
        made = synthesise(Instance(fabric, demand)).incumbent
        assert made is not None
        assert verify(made.schedule).valid
        times.append(made.completion_time_ps)
    assert times[1] < times[0] * 0.42


def test_few_lasers_of_lightpath_lead_everywhere_in_two() -> None:
    """Eight tiles with three lasers: one configuration, not three."""
    fabric = load_fabric({"kind": "lightpath", "rows": 2, "cols": 4, "lasers": 3})
    made = synthesise(Instance(fabric, everybody(8, 64, relays=True))).incumbent
    assert made is not None
    assert verify(made.schedule).valid
    assert (len(made.schedule.segments), made.schedule.step_count) == (1, 2)


def test_matchings_lead_everywhere_in_two() -> None:
    """Eight nodes on four bidirectional switches: d, 2 alpha, and 10 blocks of 7.

    Four peers are one circuit away and three are two: 4 + 2 * 3 blocks on four ports,
    which a step after the other cannot divide into less than three blocks a port.
    """
    demand = everybody(8, 4096, relays=True)
    made = synthesise(Instance(switches(8, 4, bidirectional=True), demand)).incumbent
    assert made is not None
    assert verify(made.schedule).valid
    agree_on_circuits(made.schedule)
    assert (len(made.schedule.segments), made.schedule.step_count) == (4, 2)
    assert made.completion_time_ps <= 200 * US + 2 * 20 * US + 3 * 163_840


def test_few_steps_round_a_ring_lead_everywhere_in_two() -> None:
    """16 nodes, 8 wavelengths: steps of 1, 3 and 4 both ways, and not four turns."""
    ring = Ring(nodes=16, wavelengths=8, directions=2)
    found = synthesise(Instance(ring, everybody(16, 64, relays=True)), "relays")
    assert found.incumbent is not None
    assert found.objective is not None
    schedule = found.incumbent.schedule
    assert verify(schedule).valid
    assert schedule.algorithm.parameters["steps"] == [1, 3, 4]
    assert (len(schedule.segments), schedule.step_count) == (1, 2)
    # The busiest circuits carry four blocks of 20,480 ps, and a little by rounding.
    assert 0 <= found.objective - (25 * US + 2 * 700_000 + 4 * 20_480) < 2_000


FABRICS: tuple[dict[str, object], ...] = (
    {"kind": "ring", "nodes": 6, "wavelengths": 2, "reach": 2, "directions": 2},
    {"kind": "ring-2d", "rows": 2, "cols": 3}
    | {"row_wavelengths": 2, "column_wavelengths": 1},
    {"kind": "lightpath", "rows": 2, "cols": 3, "lasers": 2},
    {"kind": "sipac", "radix": 2, "switching": "fixed"},
    {"kind": "ramp", "groups": 2, "racks": 2, "nodes_per_rack": 2},
    {"kind": "ocs", "nodes": 6, "switches": 2, "bidirectional": True}
    | {"bits_per_second_per_node": 10**11, "reconfiguration_ps": US},
)


@pytest.mark.parametrize("table", FABRICS, ids=lambda table: table["kind"])
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_on_any_fabric_relays_are_valid_and_never_slower(
    table: dict[str, int | str], data: st.DataObject
) -> None:
    """All that is made verifies, ends after its bound, and no later than straight."""
    fabric = load_fabric(table)
    pairs = [*permutations(range(fabric.node_count), 2)]
    lists = st.lists(st.sampled_from(pairs), min_size=1, max_size=9, unique=True)
    chosen, sizes = data.draw(lists), st.sampled_from([1, 4096, 10**6])
    rows = [(*pair, data.draw(sizes)) for pair in chosen]
    found = synthesise(Instance(fabric, Demand.from_rows(rows, relays=True)))
    assert found.incumbent is not None
    assert found.objective is not None
    assert verify(found.incumbent.schedule).valid
    agree_on_circuits(found.incumbent.schedule)
    assert found.bound is None or found.bound <= found.objective
    try:
        without = synthesise(Instance(fabric, Demand.from_rows(rows))).objective
    except InfeasibleError:
        return  # some pair shares no ring, or no switch
    assert without is not None
    assert found.objective <= without
