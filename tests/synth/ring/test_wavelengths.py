"""Wavelengths of a ring: lit as they may be, optimal where a witness says so."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.seed import seeded_random
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.instance import Instance
from lightloom.synth.publish import signed
from lightloom.synth.ring.flow_heuristic import control_ring
from lightloom.synth.ring.wavelengths import RingPlan, ring_schedule, ring_wavelengths
from lightloom.validate import verify
from lightloom.validate.certificates.circuits_per_byte import (
    LongCircuits,
    check_ring_witness,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

THREE = Demand((0, 1, 2), (2, 0, 1), (5, 5, 5))
RINGS = {
    "one way": Ring(nodes=32, wavelengths=32, reach=8),
    "both ways": Ring(nodes=32, wavelengths=32, reach=8, directions=2),
    "either way": Ring(nodes=12, wavelengths=24, reach=11, directions=2),
    "shared": Ring(
        nodes=32, wavelengths=32, reach=8, directions=2, shared_transceivers=True
    ),
}


def near_traffic(fabric: Ring, each: int, seed: int, most: int = 2**20) -> Demand:
    """Return the demand in which every node sends to some others within reach."""
    rng = seeded_random(seed)
    reach = min(fabric.reach, fabric.nodes - 1)
    steps = [*range(1, reach + 1)]
    if fabric.directions == 2:
        steps += [-step for step in steps]
    partners = [sorted({step % fabric.nodes for step in steps})] * fabric.nodes
    rows = [
        (node, (node + step) % fabric.nodes, rng.randint(1, most))
        for node, near in enumerate(partners)
        for step in rng.sample(near, each)
    ]
    return Demand.from_rows(rows)


def cyclic_traffic(nodes: int, steps: Sequence[int], size: int) -> Demand:
    """Return the demand in which every node sends as much over the same distances."""
    return Demand.from_rows(
        [(node, (node + step) % nodes, size) for node in range(nodes) for step in steps]
    )


def _checked(fabric: Ring, plan: RingPlan) -> None:
    """Check counts, witness and schedule of a plan."""
    rows = zip(plan.counts.tolist(), plan.demand.bytes, strict=True)
    assert plan.ratio == min(Fraction(count, size) for count, size in rows)
    lit = [0] * len(plan.demand.src)
    assert plan.circuits.wavelengths is not None
    for pair, width in zip(plan.pairs, plan.circuits.wavelengths.lengths, strict=True):
        lit[pair] += width
    assert lit == plan.counts.tolist()
    if plan.witness is not None:
        assert plan.witness.ratio == plan.bound
        check_ring_witness(fabric, plan.demand, plan.witness)
    schedule = signed(ring_schedule(fabric, plan), Instance(fabric, plan.demand, "t"))
    assert verify(schedule).violations == ()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", RINGS)
def test_random_traffic_is_served(name: str, seed: int) -> None:
    """The plan is valid, its bound holds, and it is met wherever ways are forced."""
    fabric = RINGS[name]
    demand = near_traffic(fabric, 2 + seed % 2, seed)
    plan = ring_wavelengths(fabric, demand, seed=seed)
    _checked(fabric, plan)
    assert plan.gap is not None
    if name == "either way":
        assert plan.gap < 0.25
    else:
        assert plan.proved
    again = ring_wavelengths(fabric, demand, seed=seed)
    assert (again.circuits.src == plan.circuits.src).all()
    assert again.circuits.wavelengths is not None
    assert plan.circuits.wavelengths is not None
    assert again.circuits.wavelengths.to_lists() == plan.circuits.wavelengths.to_lists()


@pytest.mark.parametrize(
    ("steps", "wavelengths"),
    [((7, 11), 64), ((13,), 65), ((3, 5, 7, 11), 64), ((-9, 9), 64), ((16, -5), 48)],
)
def test_cyclic_traffic_is_optimal(steps: tuple[int, ...], wavelengths: int) -> None:
    """Where every span is as full as any other, the bound is met all the same."""
    fabric = Ring(nodes=64, wavelengths=wavelengths, reach=16, directions=2)
    plan = ring_wavelengths(fabric, cyclic_traffic(64, steps, 1000))
    _checked(fabric, plan)
    assert plan.proved


def test_long_circuits_waste_what_spans_have() -> None:
    """Thirteen spans of 64 go four times on a wavelength: 65 of them do for four."""
    fabric = Ring(nodes=64, wavelengths=65, reach=16)
    plan = ring_wavelengths(fabric, cyclic_traffic(64, (13,), 1000))
    assert plan.ratio == Fraction(4, 1000)
    assert isinstance(plan.witness, LongCircuits)


def test_loads_do_not_tell_the_wavelengths_needed() -> None:
    """Three pairs load every span by two; two wavelengths do not do, three do."""
    with pytest.raises(InfeasibleError, match="more pairs"):
        ring_wavelengths(Ring(nodes=3, wavelengths=2), THREE)
    fabric = Ring(nodes=3, wavelengths=3)
    plan = ring_wavelengths(fabric, THREE)
    _checked(fabric, plan)
    assert plan.ratio == Fraction(1, 5)
    assert plan.proved


def test_the_way_back_helps() -> None:
    """Each of the three pairs has a span of its own on a second fibre."""
    fabric = Ring(nodes=3, wavelengths=2, directions=2)
    plan = ring_wavelengths(fabric, THREE)
    _checked(fabric, plan)
    assert plan.ratio == Fraction(2, 5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RINGS)
def test_controller_serves_every_pair(name: str, seed: int) -> None:
    """Rounded flows, repaired, are valid circuits, one at least for each pair."""
    fabric = RINGS[name]
    demand = near_traffic(fabric, 2, seed)
    plan = control_ring(fabric, demand, seed=seed)
    _checked(fabric, plan)
    assert (plan.counts >= 1).all()
    assert plan.bound is None
    assert plan.gap is None
    assert not plan.proved
    best = ring_wavelengths(fabric, demand, seed=seed)
    assert best.bound is not None
    assert plan.ratio is not None
    assert best.bound / 4 <= plan.ratio <= best.bound
    again = control_ring(fabric, demand, seed=seed)
    assert (again.counts == plan.counts).all()


@pytest.mark.parametrize("make", [ring_wavelengths, control_ring])
def test_what_cannot_be_is_named(make: object) -> None:
    """A pair out of reach, a pair that is none, more pairs than wavelengths."""
    assert callable(make)
    fabric = Ring(nodes=8, wavelengths=2, directions=2, reach=2)
    with pytest.raises(InfeasibleError, match="node 4 is out of reach of node 0"):
        make(fabric, Demand((0,), (4,), (1,)))
    with pytest.raises(InputError, match="row 0: invalid pair"):
        make(fabric, Demand((3,), (3,), (1,)))
    crowd = Demand((0, 0, 1), (1, 2, 2), (1, 1, 1))
    with pytest.raises((InfeasibleError, NoAnswerError)):
        make(Ring(nodes=8, wavelengths=1), crowd)


@pytest.mark.parametrize("make", [ring_wavelengths, control_ring])
def test_empty_demand_is_served_at_once(make: object) -> None:
    """No pair, no circuit; the schedule is empty and valid."""
    assert callable(make)
    fabric = Ring(nodes=8, wavelengths=2)
    plan = make(fabric, Demand((), (), ()))
    assert plan.ratio is None
    assert verify(ring_schedule(fabric, plan)).violations == ()
