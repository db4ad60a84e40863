"""What rows show: gaps, summaries, profiles, traces, comparisons."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.bench.analysis import (
    certified_bounds,
    certified_gap,
    compare,
    contradictions,
    gap_against_time,
    geometric_mean,
    performance_profile,
    scaling,
    summaries,
)
from lightloom.bench.results import Ending, Proof
from lightloom.core.errors import InputError
from tests.bench.rows import row_of

CHECKED, NONE = Proof.CHECKED, Proof.NONE


def test_gaps_are_to_the_best_checked_bound() -> None:
    """A claim of 5 does not count, and a bound is shared by all who answer."""
    rows = [
        row_of(solver="ours", answer="6", bound="3", proof=CHECKED),
        row_of(solver="theirs", answer="5", bound="5"),
        row_of(solver="late", answer=None, ending=Ending.TIMED_OUT),
        row_of("b", answer="4", bound=None, proof=NONE, ending=Ending.ANSWER),
    ]
    bounds = certified_bounds(rows)
    gaps = [certified_gap(row, bounds) for row in rows]
    assert gaps == [1.0, pytest.approx(2 / 3), None, None]


def test_the_best_bound_of_a_maximum_is_the_least() -> None:
    """Fractions are compared exactly."""
    rows = [
        row_of(answer="1/3", bound="1/2", proof=CHECKED, sense="maximise"),
        row_of(answer="1/3", bound="1/3", proof=CHECKED, sense="maximise"),
    ]
    assert [certified_gap(row, certified_bounds(rows)) for row in rows] == [0, 0]
    assert contradictions(rows) == []


@pytest.mark.parametrize(
    ("answer", "bound", "proof", "sense", "wrong"),
    [
        ("4", "5", CHECKED, "minimise", True),
        ("5", "5", CHECKED, "minimise", False),
        ("5", "4", CHECKED, "maximise", True),
        ("4999999/1000000", "5", CHECKED, "minimise", True),
        ("4999999/1000000", "5", Proof.CLAIMED, "minimise", False),
        ("4", "5", Proof.CLAIMED, "minimise", True),
    ],
)
def test_an_answer_that_beats_a_bound_is_found(
    answer: str, bound: str, proof: Proof, sense: str, *, wrong: bool
) -> None:
    """Certified bounds leave no room; claims have a tolerance."""
    rows = [
        row_of(solver="one", answer=answer, bound=None, proof=NONE, sense=sense),
        row_of(solver="two", answer="5", bound=bound, proof=proof, sense=sense),
    ]
    assert bool(contradictions(rows)) == wrong


def test_an_answer_to_what_has_none_is_found() -> None:
    """An instance that one solver calls infeasible and another solves is a fault."""
    rows = [row_of(), row_of(solver="no", answer=None, ending=Ending.INFEASIBLE)]
    (fault,) = contradictions(rows)
    assert "no says there is none" in fault
    assert contradictions([rows[1]]) == []


def test_a_summary_counts_every_run() -> None:
    """Answered, proven, certified, and what became of the others."""
    rows = [
        row_of("a", answer="6", bound="6", proof=CHECKED, seconds=1.0),
        row_of("b", answer="6", bound="3", seconds=4.0, ending=Ending.ANSWER),
        row_of("c", answer=None, seconds=None, ending=Ending.CRASHED),
        row_of("d", answer=None, seconds=None, ending=Ending.TIMED_OUT),
    ]
    (one,) = summaries(rows)
    assert (one.runs, one.answered, one.proven, one.certified) == (4, 2, 1, 1)
    assert one.solve_s == pytest.approx(2.0)
    assert one.slowest_s == 4.0
    assert one.troubles == "1 crashed, 1 timed out"
    assert (one.mean_gap, one.worst_gap) == (0.0, 0.0)


def test_a_geometric_mean_of_nothing_is_nothing() -> None:
    """Without values there is no mean; a time of 0 counts as a microsecond."""
    assert geometric_mean([]) is None
    assert geometric_mean([0.0, 1.0]) == pytest.approx(1e-3)


def test_a_profile_by_hand() -> None:
    """Two solvers, three questions; one of them is proven by nobody."""
    rows = [
        row_of("a", "one", seconds=1.0),
        row_of("b", "one", seconds=4.0),
        row_of("a", "two", seconds=3.0),
        row_of("b", "two", seconds=2.0),
        row_of("c", "one", seconds=9.0, ending=Ending.ANSWER),
    ]
    one, two = performance_profile(rows)
    assert one.label == "one"
    assert _at(one, 1.0) == pytest.approx(1 / 3)
    assert _at(one, 1.9) == pytest.approx(1 / 3)
    assert _at(one, 2.0) == pytest.approx(2 / 3)
    assert _at(two, 2.9) == pytest.approx(1 / 3)
    assert _at(two, 3.0) == pytest.approx(2 / 3)
    assert one.x[-1] == two.x[-1] == 3.0


def _at(curve: object, x: float) -> float:
    """Return the height of a staircase at x."""
    points = zip(curve.x, curve.y, strict=True)  # type: ignore[attr-defined]
    return [height for place, height in points if place <= x][-1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.sampled_from(["one", "two", "three"]),
            st.floats(1e-4, 1e3),
            st.booleans(),
        ),
        min_size=1,
    )
)
def test_profiles_rise_and_stay_below_one(
    told: list[tuple[str, str, float, bool]],
) -> None:
    """At 1 the shares of all solvers make up what somebody proved, ties aside."""
    rows = [
        row_of(name, solver, seconds=s, ending=Ending.OPTIMAL if ok else Ending.ANSWER)
        for name, solver, s, ok in told
    ]
    curves = performance_profile(rows)
    proven = {name for name, _, _, ok in told if ok}
    share = len(proven) / len({name for name, _, _, _ in told})
    assert bool(curves) == bool(proven)
    for curve in curves:
        assert list(curve.x) == sorted(curve.x)
        assert list(curve.y) == sorted(curve.y)
        assert curve.y[-1] <= share + 1e-12
    if curves:
        assert sum(_at(curve, 1.0) for curve in curves) >= share - 1e-9


def test_nobody_proves_anything() -> None:
    """Without a proven optimum there is no performance profile."""
    assert performance_profile([row_of(ending=Ending.ANSWER)]) == []


def test_the_gap_against_time_is_a_mean() -> None:
    """A run without an answer counts as a gap of 1 throughout."""
    rows = [
        row_of("a", trace=((1.0, 10.0, None), (2.0, 7.5, 5.0), (4.0, 6.0, 6.0))),
        row_of("b", answer=None, ending=Ending.TIMED_OUT),
    ]
    (curve,) = gap_against_time(rows)
    assert [_at(curve, x) for x in (1.0, 2.0, 3.9, 4.0)] == [1.0, 0.75, 0.75, 0.5]
    late = row_of("a", solver="late", trace=((3.0, 6.0, 6.0),))
    first, second = gap_against_time([*rows, late])
    assert first.x[0] == second.x[0] == 1.0
    assert first.x[-1] == second.x[-1] > 4.0
    assert [_at(second, x) for x in (1.0, 2.9, 3.0)] == [1.0, 1.0, 0.0]
    assert gap_against_time([row_of()]) == []


def test_scaling_is_over_answers() -> None:
    """Sizes ascend, and unanswered runs leave no point."""
    rows = [
        row_of("net #0", size=8, seconds=4.0),
        row_of("net #1", size=4, seconds=1.0),
        row_of("net #2", size=8, seconds=1.0),
        row_of("net #3", size=16, seconds=1.0, ending=Ending.TIMED_OUT),
    ]
    (curve,) = scaling(rows)
    assert curve.x == (4.0, 8.0)
    assert curve.y == pytest.approx((1.0, 2.0))


def test_scaling_joins_no_different_families() -> None:
    """Sizes of one thing are joined; another thing has a line of its own."""
    rows = [
        row_of("grid 2x2 lasers=4 #0", size=4, seconds=1.0),
        row_of("grid 4x4 lasers=4 #7", size=16, seconds=2.0),
        row_of("star-8", size=8, seconds=9.0),
    ]
    joined, alone = scaling(rows)
    assert (joined.label, joined.x, joined.y) == ("highs", (4.0, 16.0), (1.0, 2.0))
    assert (alone.label, alone.x) == ("highs", (8.0,))


def test_twice_as_slow_is_slower_and_noise_is_not() -> None:
    """The ratio and its interval by hand: logs of 1.9, 2.0 and 2.1, t of 2."""
    names = "abc"
    before = [row_of(name, seconds=1.0) for name in names for _ in range(2)]
    factors = (1.9, 2.0, 2.1)
    after = [row_of(n, seconds=f) for n, f in zip(names, factors, strict=True)]
    (speed,) = compare(before, after).speeds
    logs = [math.log(factor) for factor in factors]
    mean = sum(logs) / 3
    deviation = math.sqrt(sum((log - mean) ** 2 for log in logs) / 2)
    reach = 4.302652729911275 * deviation / math.sqrt(3)
    assert speed.verdict == "slower"
    assert speed.ratio == pytest.approx(math.exp(mean))
    assert speed.low == pytest.approx(math.exp(mean - reach))
    assert speed.high == pytest.approx(math.exp(mean + reach))
    (back,) = compare(after, before).speeds
    assert back.verdict == "faster"
    noisy = [row_of(n, seconds=f) for n, f in zip(names, (0.5, 2.0, 1.1), strict=True)]
    assert compare(before, noisy).speeds[0].verdict == "no change shown"


def test_nothing_repeated_shows_nothing() -> None:
    """However slower, without repetitions nobody knows what noise is."""
    (speed,) = compare([row_of(seconds=1.0)], [row_of(seconds=9.0)]).speeds
    assert speed.verdict == "not repeated"
    assert (speed.low, speed.noise) == (None, None)


def test_noise_is_measured_by_repetition() -> None:
    """By hand: four runs of two questions' noise, t of 2, over two questions."""
    seconds = {"a": (1.0, 4.0), "b": (2.0, 8.0)}
    before = [row_of(name, seconds=s) for name in seconds for s in seconds[name]]
    after = [row_of(name, seconds=5.0 * s) for name in seconds for s in (2.0,)]
    (speed,) = compare(before, after).speeds
    deviation = math.sqrt(4 * math.log(2) ** 2 / 2)
    reach = 4.302652729911275 * deviation * math.sqrt(1 + 1 + 0.5 + 0.5) / 2
    assert speed.noise == pytest.approx(math.exp(reach))
    assert speed.verdict == "no change shown"
    (one,) = compare([row_of(seconds=s) for s in (1, 2)], [row_of(seconds=9)]).speeds
    assert one.low is None
    assert one.verdict == "no change shown"  # t of one degree of freedom is wide
    many = [row_of(seconds=s) for s in (1, 1.1, 1, 1.05)]
    assert compare(many, [row_of(seconds=9)]).speeds[0].verdict == "slower"


def test_changes_of_answers_are_told() -> None:
    """Endings, answers and bounds; the unpaired are counted."""
    before = [row_of("a"), row_of("b"), row_of("c")]
    after = [row_of("a", answer="6"), row_of("b", ending=Ending.ANSWER), row_of("d")]
    found = compare(before, after)
    told = [(one.instance, one.what, one.before, one.after) for one in found.changes]
    assert told == [
        ("a", "answer", "5", "6"),
        ("b", "ending", "proven optimal", "stopped with an answer"),
    ]
    assert (found.only_before, found.only_after) == (1, 1)


def test_what_cannot_be_compared_is_refused() -> None:
    """Runs without a common question, and a confidence above 1, are refused."""
    with pytest.raises(InputError, match="no question in common"):
        compare([row_of("a")], [row_of("b")])
    with pytest.raises(InputError, match="invalid confidence"):
        compare([row_of()], [row_of()], confidence=1.5)
