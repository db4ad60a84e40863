"""The index algorithm and rings of few strides: rounds, data, and their extremes."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.plans.algorithms import make_algorithm
from lightloom.plans.algorithms.bruck import equal_radices, hop_rounds
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
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


@pytest.mark.parametrize(
    ("steps", "hops"),
    [(6, [63, 14, 9, 8, 7, 6]), (8, [255, 30, 17, 12, 11, 10, 9, 8])],
)
def test_least_hops_by_cuts(steps: int, hops: list[int]) -> None:
    """For n = 64 and 256, from no cut to one before every step."""
    for cuts, least in enumerate(hops):
        places = combinations(range(1, steps), cuts)
        assert min(hop_rounds(some, steps) for some in places) == least
    assert hop_rounds((3,), 6) == 14
    assert hop_rounds((2, 4), 6) == 9


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 20), st.data())
def test_blocks_arrive_whatever_the_cuts(ranks: int, data: st.DataObject) -> None:
    """Any number of ranks; as many rounds as there are hops."""
    steps = (ranks - 1).bit_length()
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, steps - 1)), max_size=3)))
    op = data.draw(st.sampled_from(["all-gather", "all-to-all", "reduce-scatter"]))
    task = Collective(op, tuple(range(ranks)), ranks, ranks)
    algorithm = make_algorithm("shift-rings", {"cuts": cuts})
    if steps < 2 and cuts:
        with pytest.raises(InputError, match="invalid cuts"):
            algorithm.plan(task, 1)
        return
    plan = algorithm.plan(task, 1)
    execute(plan)
    assert len(plan.rounds) <= hop_rounds(tuple(cuts), steps)
    if op == "all-to-all":
        assert len(plan.rounds) == hop_rounds(tuple(cuts), steps)
        return
    moved = sum(int((one.chunk_hi - one.chunk_lo).sum()) for one in plan.rounds)
    assert moved == ranks * (ranks - 1)


def test_a_schedule_takes_what_the_closed_form_says() -> None:
    """Three rings of 64 nodes: nine hops, and a reconfiguration for each ring."""
    fabric = Ocs(
        nodes=64,
        switches=1,
        bits_per_second_per_node=8 * 10**11,
        alpha_ps=10**6,
        reconfiguration_ps=7 * 10**6,
    )
    task = Collective("all-to-all", tuple(range(64)), 2**20)
    made = synthesise(Instance(fabric, task, "t"), "shift-rings", {"cuts": [2, 4]})
    assert made.incumbent is not None
    assert verify(made.incumbent.schedule).violations == ()
    assert made.objective == 3 * 7 * 10**6 + 9 * (10**6 + 5_242_880)


def test_cuts_must_be_steps() -> None:
    """Ascending, and none beyond the last step."""
    task = Collective("all-to-all", tuple(range(8)), 8, 8)
    for cuts in ([2, 1], [3], [1, 1]):
        with pytest.raises(InputError, match="invalid cuts"):
            make_algorithm("shift-rings", {"cuts": cuts}).plan(task, 1)
