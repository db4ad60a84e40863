"""Mixed-radix halving and doubling: closed forms, order of digits, bad radices."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.hub_sums import overlapping_bits
from lightloom.plans.algorithms.radices import Radices
from lightloom.plans.box import (
    base_radices,
    fitting_radices,
    prime_factors,
)
from tests.oracle.rank_buffers import execute, pairs, port_chunks

if TYPE_CHECKING:
    from lightloom.plans.plan import Plan


def _all_reduce(ranks: int, chunks: int) -> Collective:
    return Collective("all-reduce", tuple(range(ranks)), chunks, chunks)


def _busiest(plan: Plan) -> list[int]:
    return [int(port_chunks(one).max()) for one in plan.rounds]


def test_lumorph_2_closed_form() -> None:
    """2 log2 n rounds; halves, quarters, ... and back, (n - 1) / n B each way."""
    plan = make_algorithm("lumorph-2", {}).plan(_all_reduce(256, 256), 16)
    halves = [128, 64, 32, 16, 8, 4, 2, 1]
    assert _busiest(plan) == halves + halves[::-1]


def test_lumorph_4_closed_form() -> None:
    """2 log4 n rounds; each of 3 peers gets B/4, then B/16, B/64, B/256."""
    plan = make_algorithm("lumorph-4", {}).plan(_all_reduce(256, 256), 16)
    quarters = [64, 16, 4, 1]
    assert _busiest(plan) == quarters + quarters[::-1]
    assert all(len(port_chunks(one)) == 3 for one in plan.rounds)


def test_full_exchange_of_a_full_rack() -> None:
    """Two rounds of the whole buffer to 15 peers each."""
    plan = make_algorithm("full-exchange", {}).plan(_all_reduce(256, 1), 16)
    assert [port_chunks(one).tolist() for one in plan.rounds] == [[1] * 15] * 2


def test_first_radix_is_the_most_significant_digit() -> None:
    """Peers of the first round are n / radix ranks apart, neighbours if near_first."""
    far = Radices((4, 2)).plan(_all_reduce(8, 8), 4).rounds[0]
    near = Radices((4, 2), near_first=True).plan(_all_reduce(8, 8), 4).rounds[0]
    assert [d for s, d in pairs(far) if s == 1] == [3, 5, 7]
    assert [d for s, d in pairs(near) if s == 1] == [0, 2, 3]


def test_rounds_mirror_each_other() -> None:
    """All-gather walks back over the circuits of reduce-scatter, port by port."""
    rounds = Radices((3, 2, 4)).plan(_all_reduce(24, 24), 3).rounds
    for down, up in zip(rounds, rounds[::-1], strict=True):
        for port in range(int(down.port.max()) + 1):
            of_port = [
                sorted(zip(r.src[r.port == port], r.dst[r.port == port], strict=True))
                for r in (down, up)
            ]
            assert of_port[0] == of_port[1]


def _fits(radices: list[int]) -> bool:
    return prod(radices) <= 48


_RADICES = st.lists(st.integers(2, 6), max_size=5).filter(_fits)


@settings(deadline=None)
@given(_RADICES, st.integers(1, 70), st.booleans())
def test_any_radices(radices: list[int], chunks: int, near_first: bool) -> None:  # noqa: FBT001
    """Whatever the first digit is, scattering and exchanging are all-reduces."""
    for name, ways in (("radices", 2), ("full-exchange", 1)):
        made = make_algorithm(name, {"radices": radices, "near_first": near_first})
        plan = made.plan(_all_reduce(prod(radices), chunks), 2)
        execute(plan)
        if chunks >= prod(radices):
            assert len(plan.rounds) == ways * len(radices)


@settings(deadline=None)
@given(_RADICES, st.integers(0, 5), st.integers(1, 70))
def test_any_scatter_and_exchange(radices: list[int], count: int, chunks: int) -> None:
    """Any mixture of scatter and exchange is an all-reduce, however much is given."""
    scatter, exchange = radices[:count], radices[count:]
    task = _all_reduce(prod(radices), chunks)
    both = {"scatter": scatter, "exchange": exchange}
    plan = make_algorithm("scatter-exchange", both).plan(task, 2)
    execute(plan)
    if chunks >= prod(scatter):
        assert len(plan.rounds) == 2 * len(scatter) + len(exchange)
    execute(make_algorithm("scatter-exchange", {"scatter": scatter}).plan(task, 2))
    execute(make_algorithm("scatter-exchange", {"exchange": exchange}).plan(task, 2))


@settings(deadline=None)
@given(st.integers(1, 2000), st.integers(2, 9), st.integers(1, 20))
def test_factors_multiply_to_the_ranks(ranks: int, base: int, ports: int) -> None:
    """Every rule gives factors of the number of ranks, 2 or more each."""
    for found in (
        prime_factors(ranks),
        base_radices(ranks, base),
        fitting_radices(ranks, ports),
    ):
        assert prod(found) == ranks
        assert all(radix >= 2 for radix in found)


def test_remainder_rule() -> None:
    """The base as often as it divides, then the primes of the rest."""
    assert base_radices(256, 4) == (4, 4, 4, 4)
    assert base_radices(128, 4) == (4, 4, 4, 2)
    assert base_radices(48, 4) == (4, 4, 3)
    assert base_radices(96, 4) == (4, 4, 2, 3)
    assert base_radices(47, 2) == (47,)


@settings(deadline=None)
@given(st.integers(2, 300), st.integers(1, 20))
def test_fitting_radices_against_all_factorisations(ranks: int, ports: int) -> None:
    """No other factorisation has fewer rounds, or as many and fewer peers."""

    def cost(radices: tuple[int, ...]) -> tuple[int, int]:
        rounds = sum(-(-(radix - 1) // ports) for radix in radices)
        return rounds, sum(radices) - len(radices)

    def every(number: int, least: int) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = [(number,)]
        for radix in range(least, number // 2 + 1):
            if number % radix == 0 and number // radix >= radix:
                found += [(radix, *rest) for rest in every(number // radix, radix)]
        return found

    best = min(cost(radices) for radices in every(ranks, 2))
    assert cost(fitting_radices(ranks, ports)) == best


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("radices", {"radices": [4, 4]}, "product of the radices is 16, for 12 ranks"),
        ("full-exchange", {"radices": [5]}, "product of the radices is 5, for 12"),
        ("scatter-exchange", {"scatter": [5]}, "product of the radices is 5, for 12"),
        ("scatter-exchange", {"exchange": [24]}, "product of the radices is 24"),
        ("scatter-exchange", {"scatter": [3], "exchange": [3]}, "radices is 9, for 12"),
        ("overlapping-subspaces", {}, "12 ranks have no subspaces that overlap"),
    ],
)
def test_radices_that_do_not_fit(
    name: str, parameters: dict[str, object], message: str
) -> None:
    """Radices that the ranks cannot be counted in are refused with the reason."""
    made = make_algorithm(name, parameters)
    with pytest.raises(InputError, match=message):
        made.plan(_all_reduce(12, 12), 4)
    with pytest.raises(InputError, match=message):
        made.granularity(12, 4)


@pytest.mark.parametrize(("ranks", "bits"), [(8, 2), (32, 3), (128, 4)])
def test_overlapping_subspaces(ranks: int, bits: int) -> None:
    """Two rounds; all ports but one carry as much, in both, and that one more."""
    made = make_algorithm("overlapping-subspaces", {})
    ports = 2 ** (bits + 1) - 3
    parts = made.granularity(ranks, ports)
    plan = made.plan(_all_reduce(ranks, parts), ports)
    execute(plan)
    for one in plan.rounds:
        shared = one.src ^ one.dst == 1 << (bits - 1)
        loads = np.bincount(one.port[~shared], minlength=ports)
        assert set(loads.tolist()) == {0, 3 * 2 ** (bits - 2) * ranks}
        assert shared.sum() == 2**bits * ranks
        assert int(one.port.max()) == ports - 1
    assert overlapping_bits(ranks) == bits


def test_ranks_without_overlapping_subspaces() -> None:
    """An odd power of two, and not just one bit."""
    assert [n for n in range(1, 600) if overlapping_bits(n)] == [8, 32, 128, 512]


def test_only_all_reduce_can_exchange() -> None:
    """An exchange factor, or unusual ownership, is refused for all-gather."""
    for name in ("full-exchange", "overlapping-subspaces", "scatter-exchange"):
        with pytest.raises(InputError, match="does not do all-gather"):
            make_algorithm(name, {}, op="all-gather")
    for name in ("radices", "lumorph-2"):
        with pytest.raises(InputError, match="does not do all-gather"):
            make_algorithm(name, {"near_first": True}, op="all-gather")
