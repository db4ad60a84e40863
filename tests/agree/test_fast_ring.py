"""Rings by bound and colouring: found <= exhaustive <= bound; a solver closes gaps."""

from __future__ import annotations

import pytest

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.ring.arcs import ring_ways
from lightloom.synth.ring.flow_heuristic import control_ring
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.wavelengths import ring_schedule, ring_wavelengths
from lightloom.validate import verify
from lightloom.validate.certificates.circuits_per_byte import check_ring_witness
from tests.examples.small_demands import best_of_wavelengths, random_demand

SIZES = (1, 2, 3, 5, 8, 13)
FABRICS = {
    "one way": Ring(nodes=4, wavelengths=4),
    "one way, more": Ring(nodes=5, wavelengths=3, reach=4),
    "both ways": Ring(nodes=4, wavelengths=3, directions=2),
    "both ways, near": Ring(nodes=4, wavelengths=3, directions=2, reach=2),
    "shared": Ring(nodes=4, wavelengths=3, directions=2, shared_transceivers=True),
    "shared, near": Ring(
        nodes=5, wavelengths=2, directions=2, reach=3, shared_transceivers=True
    ),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", FABRICS)
def test_answers_enclose_the_exhaustive_search(name: str, seed: int) -> None:
    """Nothing lit beats the search of everything, which does not beat the bound."""
    fabric = FABRICS[name]
    instance = random_demand(fabric, 3 + seed % 4, seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    best = best_of_wavelengths(instance, fabric)
    try:
        ways = ring_ways(fabric, demand)
    except InfeasibleError:
        assert best is None
        return
    bound = ring_bound(fabric, ways)
    check_ring_witness(fabric, demand, bound.witness)
    assert bound.ratio >= (best or 0)
    for make in (ring_wavelengths, control_ring):
        try:
            plan = make(fabric, demand, seed=seed)
        except (InfeasibleError, NoAnswerError):
            continue
        assert best is not None
        assert plan.ratio is not None
        assert 0 < plan.ratio <= best
        assert verify(ring_schedule(fabric, plan)).violations == ()
