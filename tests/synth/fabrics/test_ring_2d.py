"""Collectives and demands on 2D rings, from instance to verified schedule."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective, Demand
from lightloom.core.units import transmission_ps
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.instances.instance import Instance
from lightloom.replay import replay
from lightloom.synth.realisation import best_configurations
from lightloom.synth.synthesise import Synthesis, synthesise
from lightloom.validate import verify

PLENTY = Ring2d(rows=3, cols=4, row_wavelengths=8, column_wavelengths=6)
SCARCE = Ring2d(rows=3, cols=4, row_wavelengths=3, column_wavelengths=1)
BOTH_WAYS = Ring2d(
    rows=4,
    cols=2,
    row_wavelengths=4,
    column_wavelengths=4,
    directions=2,
    shared_transceivers=True,
)


def made(
    fabric: Ring2d,
    task: Collective | Demand,
    algorithm: str = "auto",
    **keys: object,
) -> Synthesis:
    """Return a verified schedule, and what it was compared with."""
    outcome = synthesise(Instance(fabric, task, "a test"), algorithm, keys)
    assert outcome.incumbent is not None
    schedule = outcome.incumbent.schedule
    assert verify(schedule).violations == ()
    assert outcome.objective == replay(schedule).completion_time_ps
    assert outcome.bound is None or outcome.bound <= outcome.objective
    return outcome.incumbent


def over_all(fabric: Ring2d, op: str, buffer_bytes: int) -> Collective:
    """Return a collective of all nodes."""
    return Collective(op, tuple(range(fabric.node_count)), buffer_bytes)


@pytest.mark.parametrize("op", sorted(COLLECTIVES))
@pytest.mark.parametrize(
    "fabric", [PLENTY, SCARCE, BOTH_WAYS], ids=["plenty", "scarce", "both-ways"]
)
def test_every_collective_is_verified_and_certified(fabric: Ring2d, op: str) -> None:
    """Schedules are valid, and bounds that hold on any fabric are proven."""
    schedule = made(fabric, over_all(fabric, op, 288 * 1024)).schedule
    assert schedule.footer is not None
    assert schedule.footer.certificate is not None


def test_the_same_question_has_the_same_schedule() -> None:
    """Two calls give the same bytes."""
    task = over_all(SCARCE, "broadcast", 288 * 1024)
    first, second = (made(SCARCE, task).schedule for _ in range(2))
    assert first.footer == second.footer


def test_rings_along_columns_and_rows_by_hand() -> None:
    """Two hops of a block, and three of what a column has gathered."""
    block = 2**20
    task = over_all(PLENTY, "all-gather", 12 * block)
    schedule = made(PLENTY, task, "torus-rings").schedule
    hops = [(block, 6)] * 2 + [(3 * block, 8)] * 3
    rate = PLENTY.bits_per_second_per_wavelength
    expected = PLENTY.reconfiguration_ps + sum(
        PLENTY.alpha_ps + transmission_ps(size, lit * rate) for size, lit in hops
    )
    assert replay(schedule).completion_time_ps == expected
    assert len(schedule.segments) == 1


def test_pairs_without_wavelengths_at_once_take_turns() -> None:
    """Direct exchange on a column of one wavelength: one port after the other."""
    schedule = made(SCARCE, over_all(SCARCE, "all-to-all", 12 * 144), "levels").schedule
    assert len(schedule.segments) > 1
    assert len({part.index for part in schedule.parts}) < len(schedule.parts)


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_nodes_where_rows_and_columns_meet(data: st.DataObject) -> None:
    """Any of them, in any order; blocks end where they belong."""
    rows = data.draw(st.sets(st.integers(0, 2), min_size=1))
    cols = data.draw(st.sets(st.integers(0, 3), min_size=1))
    nodes = data.draw(st.permutations([4 * row + col for row in rows for col in cols]))
    op = data.draw(st.sampled_from(sorted(COLLECTIVES)))
    task = Collective(op, tuple(nodes), 72 * len(nodes))
    made(PLENTY, task)


def test_nodes_that_are_no_grid_are_refused() -> None:
    """The error says which nodes would be a grid."""
    task = Collective("all-reduce", (0, 1, 4), 300)
    with pytest.raises(InputError, match=r"2 rows and 2 columns.*all 4 nodes"):
        made(PLENTY, task)


@pytest.mark.parametrize(
    ("algorithm", "keys", "kind", "words"),
    [
        ("ring", {}, InfeasibleError, "share neither a row nor a column"),
        ("no-such", {}, InputError, "algorithm"),
        ("auto", {"parts": 1}, InputError, "auto takes no parameters"),
    ],
)
def test_algorithms_that_do_not_fit(
    algorithm: str, keys: dict[str, object], kind: type[Exception], words: str
) -> None:
    """Transfers off the rings, and names that nobody knows."""
    with pytest.raises(kind, match=words):
        made(PLENTY, over_all(PLENTY, "all-reduce", 1728), algorithm, **keys)


def test_light_that_reaches_only_the_next_node_leaves_rings() -> None:
    """Direct exchange is out of reach, and rings are not."""
    near = Ring2d(
        rows=3,
        cols=4,
        row_wavelengths=4,
        column_wavelengths=4,
        power_budget_millidb=700,
        node_loss_millidb=600,
    )
    best = made(near, over_all(near, "all-reduce", 1728))
    assert best.schedule.algorithm.name == "torus-rings"
    with pytest.raises(InfeasibleError, match=r"column 0, demand row 0.*out of reach"):
        made(near, over_all(near, "all-to-all", 1728))


def test_demands_are_served_along_rings() -> None:
    """Pairs on one ring are served; others are refused."""
    fabric = Ring2d(
        rows=3, cols=4, row_wavelengths=2, column_wavelengths=1, directions=2
    )
    rows = [(0, 2, 900), (2, 0, 90), (1, 3, 9), (1, 9, 900), (9, 1, 10), (5, 1, 7)]
    made(fabric, Demand.from_rows(rows))
    with pytest.raises(InfeasibleError, match="share neither a row nor a column"):
        made(fabric, Demand.from_rows([(0, 5, 10)]))


class Span:
    """Pieces that last as long as there are, squared; or one by itself."""

    def __init__(self, first: int, last: int, single_ps: int) -> None:
        self.pieces = last - first + 1
        self.duration_ps = single_ps * self.pieces**2


@pytest.mark.parametrize(
    ("reconfiguration_ps", "turns"), [(0, [1] * 4), (30, [2, 2]), (1000, [4])]
)
def test_turns_trade_reconfigurations_for_light(
    reconfiguration_ps: int, turns: list[int]
) -> None:
    """Quadratic costs: halves where a reconfiguration is worth three times a piece."""
    found = best_configurations(
        4, lambda first, last: Span(first, last, 10), reconfiguration_ps
    )
    assert [turn.pieces for turn in found] == turns


def test_turns_respect_what_cannot_be_lit_together() -> None:
    """Where at most three pieces fit together, seven take three turns."""
    found = best_configurations(
        7,
        lambda first, last: Span(first, last, 1) if last - first < 3 else None,
        1000,
    )
    assert sum(turn.pieces for turn in found) == 7
    assert max(turn.pieces for turn in found) <= 3
    assert len(found) == 3


@given(st.data())
def test_turns_left_out_are_never_the_best(data: st.DataObject) -> None:
    """The best of all ways to cut pieces, whatever is known of the least they take."""
    count = data.draw(st.integers(1, 6))
    least = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    most = data.draw(st.integers(1, count))
    change_ps = data.draw(st.integers(0, 20))
    more = {
        (first, last): data.draw(st.integers(0, 15))
        for first in range(count)
        for last in range(first, min(count, first + most))
    }

    def lasts(first: int, last: int) -> int:
        return sum(least[first : last + 1]) + more[first, last]

    def serve(first: int, last: int) -> Span | None:
        return Span(0, 0, lasts(first, last)) if (first, last) in more else None

    ways = []
    for cuts in itertools.product((False, True), repeat=count - 1):
        ends = [place for place, cut in enumerate(cuts) if cut] + [count - 1]
        turns = list(zip([0, *(end + 1 for end in ends)], ends, strict=False))
        if all(turn in more for turn in turns):
            time_ps = sum(lasts(*turn) for turn in turns)
            ways.append(time_ps + change_ps * (len(turns) - 1))
    for known in ([], least):
        found = best_configurations(count, serve, change_ps, known)
        time_ps = sum(turn.duration_ps for turn in found)
        assert time_ps + change_ps * (len(found) - 1) == min(ways)
