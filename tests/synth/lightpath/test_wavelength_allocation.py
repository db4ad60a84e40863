"""Division of lasers: against brute force, and the paper's 16 over 3 peers."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.units import transmission_ps
from lightloom.synth.lightpath.wavelength_allocation import divide_lasers


def _time(rounds: list[tuple[int, tuple[int, ...]]], spread: tuple[int, ...]) -> int:
    return sum(
        count * max(transmission_ps(s, w) for s, w in zip(sizes, spread, strict=True))
        for count, sizes in rounds
    )


def test_sixteen_lasers_over_three_peers() -> None:
    """One laser in sixteen is idle with three equal peers."""
    assert divide_lasers((1, 1, 1), ((1, (9, 9, 9)),), 16) == (5, 5, 5)


def test_a_larger_share_gets_more_lasers() -> None:
    """Shares of 3:1 get lasers 3:1."""
    assert divide_lasers((1, 1), ((1, (300, 100)),), 16) == (12, 4)


def test_lanes_that_do_not_fit() -> None:
    """More layers than lasers is no division at all."""
    assert divide_lasers((2, 2), ((1, (1, 1)),), 3) is None


@given(st.data())
def test_division_is_optimal(data: st.DataObject) -> None:
    """No other division of few lasers over few lanes ends sooner."""
    lanes = data.draw(st.integers(1, 3))
    weights = tuple(data.draw(st.integers(1, 2)) for _ in range(lanes))
    sizes = st.tuples(*[st.integers(0, 50) for _ in range(lanes)])
    rounds = data.draw(
        st.lists(st.tuples(st.integers(1, 3), sizes), min_size=1, max_size=3)
    )
    lasers = data.draw(st.integers(1, 8))
    found = divide_lasers(weights, tuple(rounds), lasers)
    fitting = [
        spread
        for spread in itertools.product(range(1, lasers + 1), repeat=lanes)
        if sum(c * w for c, w in zip(weights, spread, strict=True)) <= lasers
    ]
    if not fitting:
        assert found is None
        return
    assert found in fitting
    assert _time(rounds, found) == min(_time(rounds, spread) for spread in fitting)
