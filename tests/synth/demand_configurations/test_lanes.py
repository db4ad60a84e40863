"""Demands in turns on lanes: whatever the fabric, sound, and near what lines allow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lightloom.core.columns import Ragged
from lightloom.core.errors import NoAnswerError
from lightloom.core.seed import seeded_random
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.instances.instance import Instance
from lightloom.synth.bounds import all_bounds
from lightloom.synth.demand_configurations.lanes import line_colours
from lightloom.synth.fabrics import realiser_of
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.realisation import Realisation

SIPAC = Sipac(radix=3, wavelengths_per_peer=2, reconfiguration_ps=10**6)
RAMP = Ramp(groups=2, racks=2, nodes_per_rack=2)
GRATINGS = Ramp(groups=2, racks=2, nodes_per_rack=2, subnet="route-and-broadcast")
SWITCHES = Ramp(groups=2, racks=2, nodes_per_rack=2, subnet="route-and-switch")
GRID = Ring2d(
    rows=3, cols=3, row_wavelengths=2, column_wavelengths=3, reconfiguration_ps=10**6
)
BOTH_WAYS = Ring2d(
    rows=3,
    cols=4,
    row_wavelengths=3,
    column_wavelengths=2,
    directions=2,
    reconfiguration_ps=10**6,
)
MANY = Ring2d(rows=3, cols=3, row_wavelengths=130, column_wavelengths=150, directions=2)
SHARED = Ring2d(
    rows=3,
    cols=4,
    row_wavelengths=3,
    column_wavelengths=2,
    directions=2,
    shared_transceivers=True,
)


def near_pairs(fabric: AnyFabric, seed: int, share: float) -> Demand:
    """Return bytes between nodes that one circuit joins, from 1 to about 30 MB."""
    rng = seeded_random(seed)
    nodes = fabric.node_count
    src, dst = np.nonzero(~np.eye(nodes, dtype=np.bool_))
    one = np.ones(len(src), dtype=np.int64)
    if not isinstance(fabric, Ramp):
        assert isinstance(fabric, Sipac | Ring2d)
        one = fabric.circuits_apart(src, dst)
    pairs = zip(src[one == 1].tolist(), dst[one == 1].tolist(), strict=True)
    rows = [
        (a, b, int(rng.choice([1, 10**4, 10**6]) * rng.paretovariate(1.2)))
        for a, b in pairs
        if rng.random() < share
    ]
    return Demand.from_rows(rows or [(0, 1, 1)])


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.1, 0.25]))
@example(seed=227, share=0.1)
@pytest.mark.parametrize(
    "fabric", [SIPAC, RAMP, GRATINGS, SWITCHES, GRID, BOTH_WAYS, SHARED, MANY]
)
def test_turns_are_sound(fabric: AnyFabric, seed: int, share: float) -> None:
    """Every schedule verifies, and none beats a bound."""
    demand = near_pairs(fabric, seed, share)
    made = synthesise(Instance(fabric, demand), "configurations").incumbent
    assert made is not None
    assert verify(made.schedule).valid
    assert all(
        bound.bound <= made.completion_time_ps
        for bound in all_bounds(fabric, demand).values()
    )


def test_the_wavelengths_of_a_level_go_to_who_needs_them() -> None:
    """Where rounds give each partial permutation its share, large pairs wait."""
    rows = [(0, 1, 6_000_000), (0, 2, 10**5), (1, 2, 10**5), (1, 0, 3_000_000)]
    rows += [(2, 0, 10**5), (2, 1, 10**5), (3, 4, 6_000_000), (3, 5, 2_000_000)]
    instance = Instance(SIPAC, Demand.from_rows(rows))
    made = synthesise(instance, "configurations")
    rounds = synthesise(instance, "edge-colouring")
    assert made.objective is not None
    assert rounds.objective is not None
    assert made.bound is not None
    assert made.objective < rounds.objective
    assert made.objective <= made.bound * 1.1


def test_the_subnet_that_all_share_is_full() -> None:
    """Four nodes of two racks send to two of one number: proven by their subnet."""
    rows = [(0, 4, 8_000_000), (2, 6, 8_000_000), (1, 4, 100), (3, 6, 100)]
    made = synthesise(Instance(RAMP, Demand.from_rows(rows))).incumbent
    assert made is not None
    assert made.certificate is not None
    assert made.certificate.kind == "prices"
    assert made.completion_time_ps <= made.certificate.bound * 1.02


def test_a_large_pair_goes_both_ways_round() -> None:
    """Alone on its row, in one configuration: as fast as the two ways together."""
    rows = [(0, 2, 30_000_000), (4, 5, 1000)]
    made = synthesise(
        Instance(BOTH_WAYS, Demand.from_rows(rows)), "configurations"
    ).incumbent
    assert made is not None
    assert len(set(made.schedule.segments[0].circuits.column("direction"))) > 1
    assert made.certificate is not None
    assert made.completion_time_ps <= made.certificate.bound * 1.01


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_no_line_has_a_lane_twice(seed: int, lanes: int) -> None:
    """Units on three kinds of line, as many as fit with one lane to spare."""
    rng = np.random.default_rng(seed)
    units = rng.integers(0, 5, (40, 3)) + np.array([0, 5, 10])
    room = np.full(15, lanes - 1)
    kept = []
    for unit in units:
        if (room[unit] > 0).all():
            room[unit] -= 1
            kept.append(unit)
    crossed = Ragged.from_lengths(np.full(len(kept), 3), np.concatenate(kept))
    colour = line_colours(crossed, np.full(len(kept), lanes), 0)
    if colour is None:
        return  # the search proves nothing
    places = np.repeat(colour, 3) * 15 + crossed.values
    assert len(np.unique(places)) == len(places)
    assert 0 <= colour.min() <= colour.max() < lanes


def test_more_units_than_lanes_are_refused() -> None:
    """Three units of one line on two lanes."""
    crossed = Ragged.from_lengths(np.ones(3, np.int64), np.zeros(3, np.int64))
    assert line_colours(crossed, np.full(3, 2), 0) is None


def test_rings_with_shared_transceivers_take_lanes_of_lasers_too() -> None:
    """A laser each way round is the same one: no wavelength twice at a node."""
    fabric = Ring(
        nodes=5, wavelengths=2, directions=2, reach=4, shared_transceivers=True
    )
    rows = [(0, 1, 10**6), (0, 4, 10**6), (0, 2, 10**4), (3, 1, 10**5), (2, 4, 9)]
    made = synthesise(Instance(fabric, Demand.from_rows(rows))).incumbent
    assert made is not None
    assert verify(made.schedule).valid


@pytest.mark.parametrize("fabric", [SIPAC, RAMP, GRID])
def test_nothing_to_send_takes_no_turn(fabric: AnyFabric) -> None:
    """No segment and no step."""
    made = synthesise(Instance(fabric, Demand((), (), ())), "configurations").incumbent
    assert made is not None
    assert not made.schedule.segments


def test_circuits_that_never_change_take_no_turns() -> None:
    """The fixed shuffle of SiPAC: said as such, with what serves instead."""
    fixed = Sipac(radix=3, wavelengths_per_peer=2, switching="fixed")
    instance = Instance(fixed, Demand.from_rows([(0, 1, 10**6)]))
    with pytest.raises(NoAnswerError, match="edge-colouring"):
        synthesise(instance, "configurations")
    assert synthesise(instance).objective is not None


def test_next_to_nothing_has_a_way_too() -> None:
    """A byte beside 2**50, which rounding of shares must not lose."""
    fabric = Ring(nodes=4, wavelengths=2, directions=2, reach=2)
    rows = [(0, 2, 2**50), (2, 0, 2**50), (0, 1, 1), (1, 3, 1), (3, 1, 1)]
    made = synthesise(Instance(fabric, Demand.from_rows(rows))).incumbent
    assert made is not None
    assert verify(made.schedule).valid


@pytest.mark.parametrize("fabric", [SIPAC, RAMP, GRID])
def test_what_takes_no_longer_otherwise_is_not_sought(fabric: AnyFabric) -> None:
    """At a limit below what lines take no turns come; at a long one as without."""
    demand = near_pairs(fabric, 3, 0.25)
    realiser = realiser_of(fabric)

    def turns(limit_ps: float) -> list[Realisation]:
        return [*realiser.divided("configurations", demand, limit_ps)]

    with pytest.raises(NoAnswerError):
        turns(1.0 - realiser.fabric.reconfiguration_ps)
    assert [len(one.segments) for one in turns(1e18)] == [
        len(one.segments) for one in turns(math.inf)
    ]
