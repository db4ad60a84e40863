"""The bound on several switches: known values, its parts by brute force, refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.task import Collective
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.replay import replay
from lightloom.synth.bounds import find_bound
from lightloom.testing.strategies import schedules
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.one_plane import (
    least_messages,
)
from lightloom.validate.certificates.completion_time.parallel_planes import SwitchTimes
from lightloom.validate.certificates.completion_time.step_costs import (
    summed_in_three,
    summed_in_two,
)
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule

MS = 10**9
FABRIC = Ocs(
    nodes=16,
    switches=4,
    bits_per_second_per_node=4 * 200 * 10**9,
    alpha_ps=MS // 50,
    reconfiguration_ps=MS // 5,
)
LIT = msgspec.structs.replace(FABRIC, dark_while_reconfiguring="changed-circuits")
ALL = tuple(range(16))


def _bound_ps(op: str, size_bytes: int, fabric: Ocs = FABRIC) -> int:
    task = Collective(op, tuple(range(fabric.nodes)), size_bytes)
    return BOUND_KINDS["planes"].prove(fabric, task, {})


@pytest.mark.parametrize(
    ("op", "steps", "blocks"),
    [
        ("all-gather", 2, 15 / 4),
        ("reduce-scatter", 2, 15 / 4),
        ("scatter", 2, 15 / 4),
        # Four ranks next to each, the others two circuits away.
        ("all-to-all", 2, (4 + 2 * 11) / 4),
    ],
)
def test_known_bounds(op: str, steps: int, blocks: float) -> None:
    """One configuration, so many steps, and blocks of 20 us over every port."""
    assert _bound_ps(op, 8_000_000) == MS // 5 + (steps + int(blocks)) * MS // 50 + int(
        (blocks - int(blocks)) * (MS // 50)
    )


def test_an_all_reduce_of_little_takes_three_steps() -> None:
    """Two do for 11 ranks; in three, ranks get 1.88 buffers on average, not 1.875."""
    assert summed_in_two(4) == 11
    three_ps = MS // 5 + 3 * MS // 50
    assert least_messages(4, 16, 3) == Fraction(47, 25)
    assert _bound_ps("all-reduce", 16_000) == three_ps + 160_000 * 47 // 25
    with_64 = msgspec.structs.replace(FABRIC, nodes=64)
    assert summed_in_three(4) == 49
    assert _bound_ps("all-reduce", 64 * 64, with_64) > MS // 5 + 4 * MS // 50


@pytest.mark.parametrize("ports", range(1, 40))
def test_summed_in_three_is_a_maximum(ports: int) -> None:
    """The best x of the proof is in the middle."""
    fold = ports + 1
    values = [(fold - x) * (fold + ports * x) + fold * x for x in range(ports + 1)]
    assert summed_in_three(ports) == max(values)


def _walks(ranges: list[list[tuple[int, int]]]) -> int:
    """Return the pairs of segments that a walk of two circuits can use in order."""
    segments = [segment for plane in ranges for segment in plane]
    return sum(
        first < last for (first, _), (_, last) in itertools.product(segments, repeat=2)
    )


@given(st.data())
def test_two_circuits_one_after_the_other(data: st.DataObject) -> None:
    """Whatever steps segments are used in, no more pairs than the bound counts."""
    ranges = []
    for _ in range(data.draw(st.integers(1, 4))):
        ends = sorted(data.draw(st.lists(st.integers(0, 12), min_size=2, max_size=10)))
        ranges.append(list(itertools.pairwise(ends)))
    circuits = sum(len(plane) for plane in ranges)
    fabric = msgspec.structs.replace(FABRIC, switches=len(ranges))
    times = SwitchTimes(fabric, reach=10**6, least_bytes=None)
    assert _walks(ranges) <= times.known(circuits, 2) - circuits - 1


@settings(max_examples=25, deadline=None)
@given(schedules(["ocs"]))
def test_no_schedule_on_switches_beats_it(made: Schedule) -> None:
    """Random steps on random segments of random planes."""
    assert verify(made).violations == ()
    found = find_bound("planes", load_fabric(made.fabric), made.task)
    assert found is None or found.bound <= replay(made).completion_time_ps


@pytest.mark.parametrize(
    ("op", "size_bytes", "less_ps"),
    [
        ("all-gather", 8_000_000, 0),
        # A fifth circuit saves one of 26 hops of a block, 5 us on four ports.
        ("all-to-all", 8_000_000, MS // 200),
        ("all-to-all", 128_000_000, 11 * MS // 50),
    ],
)
def test_a_rank_loses_what_its_own_circuits_take(
    op: str, size_bytes: int, less_ps: int
) -> None:
    """Where the others stay lit the bound is lower only where changes save hops."""
    whole = _bound_ps(op, size_bytes)
    assert whole - _bound_ps(op, size_bytes, LIT) == less_ps


def test_it_is_about_collectives_on_switches_only() -> None:
    """Other fabrics and witnesses are refused."""
    prove, task = BOUND_KINDS["planes"].prove, Collective("all-gather", ALL, 16)
    with pytest.raises(WitnessError, match="the kind planes is about"):
        prove(IdealSwitch(nodes=16), task, {})
    with pytest.raises(WitnessError, match="keys"):
        prove(FABRIC, task, {"node": 0})
