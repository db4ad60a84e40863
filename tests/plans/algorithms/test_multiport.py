"""Multiport circulants: both optima, and a palindrome of circuits."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.plans.algorithms.multiport import Multiport
from tests.oracle.rank_buffers import execute, pairs, port_chunks

if TYPE_CHECKING:
    from lightloom.plans.plan import Plan


def _plan(op: str, ranks: int, ports: int, *, signed: bool = False) -> Plan:
    made = Multiport(signed=signed)
    chunks = made.granularity(ranks, ports)
    return made.plan(Collective(op, tuple(range(ranks)), chunks, chunks), ports)


def _fewest_rounds(ranks: int, ports: int) -> int:
    rounds = 0
    while (ports + 1) ** rounds < ranks:
        rounds += 1
    return rounds


def _port_blocks(plan: Plan) -> Fraction:
    """Return the blocks that the busiest port of each round moves, summed."""
    block = Fraction(plan.collective.chunk_count, plan.collective.rank_count)
    return sum((int(port_chunks(r).max()) / block for r in plan.rounds), Fraction())


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("ranks", "ports"),
    [(256, 16), (48, 16), (100, 16), (128, 16), (1024, 7), (17, 16), (64, 3)],
)
def test_all_gather_meets_both_bounds(ranks: int, ports: int, *, signed: bool) -> None:
    """ceil(log_{k+1} n) rounds and (n - 1) / k blocks per port, exactly."""
    plan = _plan("all-gather", ranks, ports, signed=signed)
    assert len(plan.rounds) == _fewest_rounds(ranks, ports)
    assert _port_blocks(plan) == Fraction(ranks - 1, ports)
    assert max(int(one.port.max()) for one in plan.rounds) == ports - 1


def test_all_reduce_of_a_full_rack() -> None:
    """256 ranks, 16 ports: two rounds each way, 255/16 blocks per port each way."""
    plan = _plan("all-reduce", 256, 16)
    assert len(plan.rounds) == 4
    assert _port_blocks(plan) == 2 * Fraction(255, 16)
    execute(plan)


@settings(deadline=None)
@given(st.integers(2, 200), st.integers(1, 20), st.booleans())
def test_bounds_for_any_number(ranks: int, ports: int, signed: bool) -> None:  # noqa: FBT001
    """Rounds are always fewest; data exceed the bound by less than a tenth."""
    plan = _plan("all-gather", ranks, ports, signed=signed)
    assert len(plan.rounds) == _fewest_rounds(ranks, ports)
    bound = Fraction(ranks - 1, min(ports, ranks - 1))
    assert bound <= _port_blocks(plan) < bound * Fraction(11, 10)
    assert max(int(one.port.max()) for one in plan.rounds) < ports


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("ranks", "ports"), [(256, 16), (48, 5), (100, 16), (30, 2)])
def test_all_reduce_is_a_palindrome(ranks: int, ports: int, *, signed: bool) -> None:
    """Rounds equally far from the middle use the same circuits."""
    rounds = _plan("all-reduce", ranks, ports, signed=signed).rounds
    circuits = [pairs(one) for one in rounds]
    assert circuits == circuits[::-1]
    down, up = rounds[len(rounds) // 2 - 1], rounds[len(rounds) // 2]
    lanes = [
        sorted(
            sorted(
                (s, d) for s, d, p in zip(r.src, r.dst, r.port, strict=True) if p == q
            )
            for q in range(ports)
        )
        for r in (down, up)
    ]
    assert lanes[0] == lanes[1]


def test_signed_windows_have_near_peers() -> None:
    """Growing to both sides halves the distance to the peers of the first round."""
    (first, _) = _plan("all-gather", 256, 16, signed=True).rounds
    apart = (first.src - first.dst) % 256
    assert sorted({min(int(d), 256 - int(d)) for d in apart}) == list(range(1, 9))


def test_whole_chunks_where_chunks_are_blocks() -> None:
    """One chunk per block still meets the bound up to a chunk."""
    made = Multiport()
    plan = made.plan(Collective("all-gather", tuple(range(256)), 256, 256), 16)
    most = [int(port_chunks(one).max()) for one in plan.rounds]
    assert most == [1, 15]
