"""Prices on a ring: bounds that no line proves, and gaps that they close."""

from __future__ import annotations

import numpy as np
import pytest

from lightloom.core.errors import InfeasibleError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.ring.finish import priced_bound
from lightloom.synth.ring.level import Ladder
from lightloom.synth.ring.lines import ring_bound
from lightloom.synth.ring.prices import PriceSearch
from lightloom.synth.ring.wavelengths import ring_wavelengths
from lightloom.synth.ring.ways import ring_ways
from lightloom.validate.ring import PricedPairs, check_ring_witness
from tests.agree.small_demands import best_of_wavelengths, random_demand
from tests.synth.test_ring import near_traffic

EITHER = Ring(nodes=16, wavelengths=16, reach=15, directions=2)
SMALL = (
    Ring(nodes=4, wavelengths=3, directions=2),
    Ring(nodes=5, wavelengths=3, reach=4),
    Ring(nodes=4, wavelengths=3, directions=2, shared_transceivers=True),
)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fabric", SMALL)
def test_prices_prove_no_more_than_the_optimum(fabric: Ring, seed: int) -> None:
    """Between the search of everything and the bound by lines; checked in integers."""
    instance = random_demand(fabric, 3 + seed % 4, 40 + seed, (1, 2, 3, 5, 8, 13))
    demand = instance.communication
    assert isinstance(demand, Demand)
    best = best_of_wavelengths(instance, fabric)
    ways = ring_ways(fabric, demand)
    lines = ring_bound(fabric, ways)
    if not lines.ratio:
        assert best is None
        return
    ladder = Ladder(ways.size_bytes, lines.counts)
    search = PriceSearch(fabric, ways)
    found, depth = priced_bound(search, ladder, ladder.levels, lines)
    check_ring_witness(fabric, demand, found.witness)
    assert (best or 0) <= found.ratio <= lines.ratio
    assert found.ratio == (ladder.ratio(depth) if depth else lines.ratio)


def test_prices_beat_lines() -> None:
    """Traffic whose best bound takes both fibres and many spans together."""
    gains = 0
    for seed in range(8):
        demand = near_traffic(EITHER, 2, seed)
        plan = ring_wavelengths(EITHER, demand, seed=0)
        assert plan.witness is not None
        assert plan.gap is not None
        assert plan.gap <= 0.03
        check_ring_witness(EITHER, demand, plan.witness)
        gains += isinstance(plan.witness, PricedPairs)
    assert gains


def test_what_fits_has_no_prices() -> None:
    """Three pairs fit three wavelengths once each, and not twice."""
    fabric = Ring(nodes=3, wavelengths=3)
    search = PriceSearch(
        fabric, ring_ways(fabric, Demand((0, 1, 2), (2, 0, 1), (5,) * 3))
    )
    assert search.prices(np.array([1, 1, 1])) is None
    assert search.prices(np.array([2, 1, 1])) is not None


def test_prices_say_that_not_all_pairs_can_be_served() -> None:
    """Of the last three pairs any two overlap, in no span all, and two are not long."""
    fabric = Ring(nodes=5, wavelengths=2)
    demand = Demand.from_rows([(0, 1, 1), (1, 4, 1), (3, 0, 1), (4, 3, 1)])
    ways = ring_ways(fabric, demand)
    lines = ring_bound(fabric, ways)
    assert lines.ratio == 1
    assert PriceSearch(fabric, ways).prices(lines.counts) is not None
    with pytest.raises(InfeasibleError, match="by prices of 3 pairs"):
        ring_wavelengths(fabric, demand)
