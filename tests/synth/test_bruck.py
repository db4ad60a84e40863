"""The index algorithm: rounds, data, and its two extremes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.bruck import equal_radices
from tests.oracle.rank_buffers import execute, port_chunks

if TYPE_CHECKING:
    from lightloom.plans.plan import Plan


def _plan(ranks: int, ports: int, **parameters: object) -> Plan:
    task = Collective("all-to-all", tuple(range(ranks)), ranks, ranks)
    return make_algorithm("bruck", parameters).plan(task, ports)


@pytest.mark.parametrize(("ranks", "ports"), [(256, 16), (100, 3), (7, 1), (17, 16)])
def test_fewest_rounds(ranks: int, ports: int) -> None:
    """ceil(log_{k+1} n) rounds of at most k ports."""
    plan = _plan(ranks, ports)
    rounds = len(plan.rounds)
    assert (ports + 1) ** (rounds - 1) < ranks <= (ports + 1) ** rounds
    assert max(int(one.port.max()) for one in plan.rounds) < ports


def test_data_of_a_full_rack() -> None:
    """256 ranks in radix 16: 15 ports, 16 blocks each, twice."""
    assert [port_chunks(one).tolist() for one in _plan(256, 16).rounds] == [
        [16] * 15
    ] * 2


def test_one_radix_is_the_direct_exchange() -> None:
    """Radix n sends every block straight to its rank."""
    (one,) = _plan(12, 2, radices=[12]).rounds
    assert port_chunks(one).tolist() == [1] * 11


@settings(deadline=None)
@given(
    st.integers(1, 30),
    st.lists(st.integers(2, 7), min_size=1, max_size=5),
)
def test_any_radices(ranks: int, radices: list[int]) -> None:
    """Any radices that count the ranks do, however much the first is too large."""
    if prod(radices) >= ranks:
        execute(_plan(ranks, 1, radices=radices))
        return
    with pytest.raises(InputError, match="product of the radices"):
        _plan(ranks, 1, radices=radices)


@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(1, 40))
def test_equal_radices_are_few_and_small(ranks: int, ports: int) -> None:
    """As few digits as k + 1 allows, and no smaller radix would do with as few."""
    radices = equal_radices(ranks, ports)
    assert ranks <= prod(radices)
    assert all(radix <= ports + 1 for radix in radices)
    if radices:
        assert (ports + 1) ** (len(radices) - 1) < ranks
        assert radices[0] == 2 or (radices[0] - 1) ** len(radices) < ranks
