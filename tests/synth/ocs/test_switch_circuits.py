"""Circuits of switches: permutations, optimal by brute force, spare ones dealt out."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.synth.ocs.switch_circuits import (
    SwitchPlan,
    ocs_schedule,
    switch_circuits,
)
from lightloom.synth.publish import signed
from lightloom.validate import verify
from lightloom.validate.certificates.circuits_per_byte import check_saturated_port

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[tuple[int, int, int]]


def ocs(nodes: int, switches: int, *, both_ways: bool = False) -> Ocs:
    """Return switches, fast enough for the largest demands."""
    return Ocs(
        nodes=nodes,
        switches=switches,
        bits_per_second_per_node=10**18,
        bidirectional=both_ways,
    )


def _traffic(
    nodes: int, sizes: st.SearchStrategy[int], most: int
) -> st.SearchStrategy[Rows]:
    """Draw distinct pairs with traffic."""
    pairs = st.sampled_from(list(itertools.permutations(range(nodes), 2)))
    rows = st.tuples(pairs, sizes).map(lambda row: (*row[0], row[1]))
    return st.lists(rows, min_size=1, max_size=most, unique_by=lambda row: row[:2])


def _count_vectors(demand: Demand, switches: int) -> Iterator[tuple[int, ...]]:
    """Yield the circuits of all pairs in every way that leaves no one out."""
    for counts in itertools.product(range(1, switches + 1), repeat=len(demand.src)):
        if all(
            sum(n for n, at in zip(counts, ends, strict=True) if at == node) <= switches
            for ends in (demand.src, demand.dst)
            for node in set(ends)
        ):
            yield counts


def _sorted_ratios(demand: Demand, counts: tuple[int, ...]) -> list[Fraction]:
    """Return circuits a byte, slowest pair first."""
    return sorted(
        Fraction(n, size) for n, size in zip(counts, demand.bytes, strict=True)
    )


def _served(fabric: Ocs, plan: SwitchPlan) -> None:
    """Check circuits, counts and schedule of a plan with an answer."""
    assert plan.ratio == _sorted_ratios(plan.demand, tuple(plan.counts.tolist()))[0]
    assert plan.witness is not None
    assert plan.witness.ratio == plan.ratio
    check_saturated_port(fabric, plan.demand, plan.witness)
    found = np.bincount(np.concatenate(plan.pairs), minlength=len(plan.counts))
    assert (found == plan.counts).all()
    schedule = ocs_schedule(fabric, plan)
    assert verify(schedule).violations == ()
    whole = signed(schedule, Instance(fabric, plan.demand, "test"))
    assert verify(whole).violations == ()


@settings(max_examples=60, deadline=None)
@given(_traffic(4, st.integers(1, 9), 5), st.integers(1, 4))
def test_slowest_pair_is_as_fast_as_in_any_count_matrix(
    rows: Rows, switches: int
) -> None:
    """Brute force over all count matrices finds no better one, and 0 where none is."""
    demand, fabric = Demand.from_rows(rows), ocs(4, switches)
    best = max(
        (_sorted_ratios(demand, counts) for counts in _count_vectors(demand, switches)),
        default=None,
    )
    plan = switch_circuits(fabric, demand)
    assert plan.ratio == (best[0] if best else 0)
    if best:
        _served(fabric, plan)
        ours = _sorted_ratios(demand, tuple(plan.counts.tolist()))
        assert ours <= best
        assert plan.conflicts or ours == best


@settings(max_examples=40, deadline=None)
@given(
    _traffic(12, st.sampled_from([1, 2, 3, 2**55, 2**56 - 2, 2**56 - 1]), 60),
    st.integers(2, 16),
)
def test_nothing_is_left_to_deal_out(rows: Rows, switches: int) -> None:
    """Every pair has a full row or a full column, whatever the magnitudes."""
    demand, fabric = Demand.from_rows(rows), ocs(12, switches)
    plan = switch_circuits(fabric, demand)
    if not plan.ratio:
        assert plan.witness is not None
        check_saturated_port(fabric, demand, plan.witness)
        return
    _served(fabric, plan)
    full = [
        np.bincount(ends, weights=plan.counts, minlength=12) == switches
        for ends in (demand.src, demand.dst)
    ]
    for src, dst in zip(demand.src, demand.dst, strict=True):
        assert full[0][src] or full[1][dst]


def test_close_ratios_are_told_apart() -> None:
    """Two sizes that no double distinguishes from each other get their exact order."""
    large = 2**60 - 1
    demand = Demand((0, 0), (1, 2), (large - 1, large))
    plan = switch_circuits(ocs(3, 3), demand)
    assert plan.counts.tolist() == [1, 2]
    assert plan.ratio == Fraction(1, large - 1)
    assert plan.conflicts == 0


def test_ties_raise_as_many_pairs_as_possible() -> None:
    """Of a path of three equal pairs the outer two are raised, not the middle one."""
    # Row 0 and column 3 have one port left each; 0 -> 3 would take both of them.
    demand = Demand((0, 0, 1), (3, 4, 3), (7, 7, 7))
    plan = switch_circuits(ocs(5, 3), demand)
    assert plan.conflicts == 1
    assert plan.counts.tolist() == [1, 2, 2]
    _served(ocs(5, 3), plan)


def test_spare_circuits_can_be_left() -> None:
    """Without them every pair has just what the slowest one's ratio takes."""
    demand = Demand((0, 0, 1), (1, 2, 2), (4, 2, 1))
    plan = switch_circuits(ocs(3, 3), demand, spare=False)
    assert plan.ratio is not None
    due = [-(-plan.ratio * size // 1) for size in demand.bytes]
    assert plan.counts.tolist() == due
    _served(ocs(3, 3), plan)


def test_crowd_is_named() -> None:
    """A node with more partners than switches makes the optimum 0, by its own row."""
    demand = Demand((0, 0, 0, 4), (1, 2, 3, 1), (5, 5, 5, 5))
    plan = switch_circuits(ocs(5, 2), demand)
    assert plan.ratio == 0
    assert plan.witness is not None
    assert (plan.witness.side, plan.witness.node) == ("row", 0)
    check_saturated_port(ocs(5, 2), demand, plan.witness)
    with pytest.raises(InfeasibleError, match="node 0 sends to 3 others"):
        ocs_schedule(ocs(5, 2), plan)


def test_empty_demand_is_served_at_once() -> None:
    """No pair, no circuit, no bound; the schedule is empty and valid."""
    fabric = ocs(4, 2)
    plan = switch_circuits(fabric, Demand((), (), ()))
    assert plan.ratio is None
    assert plan.witness is None
    assert verify(ocs_schedule(fabric, plan)).violations == ()


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ((0, 0, 5), "invalid pair"),
        ((0, 9, 5), "invalid pair"),
        ((2, 3, 5), "invalid pair"),
        ((0, 1, 0), "invalid number of bytes"),
        ((0, 1, -4), "invalid number of bytes"),
        ((0, 1, 2**60), "invalid number of bytes"),
    ],
)
def test_wrong_demands_are_refused(row: tuple[int, int, int], named: str) -> None:
    """A row with an invalid pair or number of bytes is named with its number."""
    columns = tuple(zip((2, 3, 5), row, strict=True))
    with pytest.raises(InputError, match=f"row 1: {named}"):
        switch_circuits(ocs(4, 2), Demand(*columns))


def test_amounts_are_integers() -> None:
    """A record says so where it is made, with the place."""
    with pytest.raises(InputError, match=r"Demand.bytes\[0\]: .*nan; allowed: integer"):
        Demand((2,), (3,), (float("nan"),))  # type: ignore[arg-type]


def test_bidirectional_circuits_are_refused() -> None:
    """Counts do not decide about matchings; the message says what does."""
    with pytest.raises(InputError, match="problem ocs"):
        switch_circuits(ocs(4, 2, both_ways=True), Demand((0,), (1,), (1,)))


def test_large_instance_is_certified() -> None:
    """A thousand nodes with eight destinations each fit sixteen permutations."""
    nodes, rng = 1000, np.random.default_rng(3)
    steps = rng.choice(np.arange(1, nodes), 8, replace=False).tolist()
    rows = [
        (node, (node + step) % nodes, int(size))
        for step in steps
        for node, size in enumerate(rng.integers(1, 2**40, nodes))
    ]
    demand = Demand.from_rows(rows)
    plan = switch_circuits(ocs(nodes, 16), demand)
    _served(ocs(nodes, 16), plan)
    again = switch_circuits(ocs(nodes, 16), demand)
    assert all(
        (one == other).all() for one, other in zip(plan.pairs, again.pairs, strict=True)
    )
