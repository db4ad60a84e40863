"""Prices on a ring: bounds that no line proves, and gaps that they close."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.errors import InfeasibleError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.ring import column_generation as prices
from lightloom.synth.ring.arcs import ring_ways, span_loads
from lightloom.synth.ring.column_generation import (
    PriceSearch,
    priced_bound,
    solved_split,
)
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.ratio_ladder import Ladder
from lightloom.synth.ring.wavelengths import ring_schedule, ring_wavelengths
from lightloom.validate import verify
from lightloom.validate.certificates.circuits_per_byte import (
    PricedPairs,
    check_ring_witness,
)
from tests.examples.small_demands import best_of_wavelengths, random_demand
from tests.synth.ring.test_wavelengths import near_traffic

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.solvers import SolveOptions
    from lightloom.solvers.adapter import Adapter, Answer
    from lightloom.solvers.standard_form import StandardForm

WIDE = Ring(nodes=64, wavelengths=64, reach=63, directions=2)
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


def _traffic(each: int, seed: int, *, heavy: bool) -> Demand:
    """Return traffic on `WIDE` from each node to others, some of it much heavier."""
    rng = np.random.default_rng([seed, each, WIDE.nodes])
    return Demand.from_rows(
        [
            (
                node,
                (node + int(step)) % WIDE.nodes,
                int(np.ceil(1000 * (1 + rng.pareto(1.0))))
                if heavy
                else int(rng.integers(1, 2**20)),
            )
            for node in range(WIDE.nodes)
            for step in rng.choice(range(1, WIDE.nodes), each, replace=False)
        ]
    )


@pytest.mark.parametrize(
    ("each", "heavy", "seed", "largest_gap"),
    [(4, True, 1, 0.0), (5, True, 3, 0.0), (6, False, 0, 0.0), (4, False, 1, 0.03)],
)
def test_many_pairs_either_way_round_take_limited_work(
    monkeypatch: pytest.MonkeyPatch,
    each: int,
    heavy: bool,  # noqa: FBT001
    seed: int,
    largest_gap: float,
) -> None:
    """A solver's split closes a gap of several per cent, or 3 % are let be."""
    asked: list[IntArray] = []
    search_prices = PriceSearch.prices

    def counted(search: PriceSearch, counts: IntArray) -> tuple[int, ...] | None:
        asked.append(counts)
        return search_prices(search, counts)

    monkeypatch.setattr(PriceSearch, "prices", counted)
    demand = _traffic(each, seed, heavy=heavy)
    plan = ring_wavelengths(WIDE, demand)
    assert plan.gap is not None
    assert plan.gap <= largest_gap
    assert plan.witness is not None
    check_ring_witness(WIDE, demand, plan.witness)
    assert verify(ring_schedule(WIDE, plan)).violations == ()
    assert asked == []


def test_prices_end_with_their_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many questions cost no more than the limit and one program beyond it."""
    sizes: list[int] = []
    solve = prices.solve_in_child

    def counted(adapter: Adapter, form: StandardForm, options: SolveOptions) -> Answer:
        sizes.append(form.columns + len(form.row_lower))
        return solve(adapter, form, options)

    monkeypatch.setattr(prices, "solve_in_child", counted)
    monkeypatch.setattr(prices, "_WORK", 1000)
    fabric = EITHER
    ways = ring_ways(fabric, near_traffic(fabric, 4, 0))
    search = PriceSearch(fabric, ways)
    bound = ring_bound(fabric, ways)
    ladder = Ladder(ways.size_bytes, bound.counts)
    found, _ = priced_bound(search, ladder, ladder.levels, bound)
    assert found.ratio <= bound.ratio
    assert sizes
    assert sum(sizes[:-1]) < 1000 + len(ladder.counts(0))
    before = len(sizes)
    assert search.prices(bound.counts * 5) is None
    assert len(sizes) == before


def test_a_solver_splits_as_the_spans_allow() -> None:
    """Two fibres with two wavelengths leave a node: four circuits fit, five do not."""
    fabric = Ring(nodes=4, wavelengths=2, directions=2)
    ways = ring_ways(fabric, Demand.from_rows([(0, 1, 1), (0, 2, 1), (0, 3, 1)]))
    counts = np.array([2, 1, 1])
    on_way = solved_split(fabric, ways, counts, 0)
    assert on_way is not None
    assert (np.bincount(ways.pair, weights=on_way) == counts).all()
    for direction in range(2):
        mine = np.repeat(
            np.arange(len(on_way)), np.where(ways.direction == direction, on_way, 0)
        )
        load = span_loads(ways.begin[mine], ways.hops[mine], fabric.nodes)
        assert load.max() <= fabric.wavelengths
    assert solved_split(fabric, ways, np.array([2, 2, 1]), 0) is None
