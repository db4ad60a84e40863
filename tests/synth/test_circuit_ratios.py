"""Ratios in columns agree with exact fractions, at any magnitude."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lightloom.synth.circuit_ratios import circuits_for, least_ratio, order_by_ratio

MOST = 2**16
COUNTS = st.integers(0, MOST)
SIZES = st.one_of(
    st.integers(1, 9), st.integers(2**60 - 9, 2**60 - 1), st.integers(1, 2**60 - 1)
)
CLOSE = st.integers(1, 99).flatmap(
    lambda count: st.tuples(
        st.just(count), st.integers(-200, 200).map(lambda more: count * 2**53 + more)
    )
)
"""Ratios of about 2**-53, which doubles confuse and disorder."""
ROWS = st.one_of(
    st.lists(st.tuples(COUNTS, SIZES), min_size=1, max_size=30),
    st.lists(CLOSE, min_size=1, max_size=30),
)


@given(st.lists(SIZES, min_size=1), COUNTS, SIZES)
def test_circuits_for_rounds_up(sizes: list[int], top: int, bottom: int) -> None:
    """The product is rounded up exactly, and cut off above the most."""
    ratio = Fraction(top, bottom)
    found = circuits_for(np.array(sizes), ratio, MOST).tolist()
    assert found == [min(math.ceil(ratio * size), MOST + 1) for size in sizes]


@given(ROWS)
def test_least_ratio_is_the_least(rows: list[tuple[int, int]]) -> None:
    """The least fraction is found with all rows that have it."""
    counts, sizes = (np.array(column) for column in zip(*rows, strict=True))
    least, chosen = least_ratio(counts, sizes)
    exact = [Fraction(*row) for row in rows]
    assert least == min(exact)
    assert chosen.tolist() == [ratio == least for ratio in exact]


@given(ROWS)
def test_order_is_that_of_fractions(rows: list[tuple[int, int]]) -> None:
    """Rows are sorted, equal ones in their own order, and changes are marked."""
    counts, sizes = (np.array(column) for column in zip(*rows, strict=True))
    order, first = order_by_ratio(counts, sizes)
    exact = [Fraction(*row) for row in rows]
    ordered = order.tolist()
    assert ordered == sorted(range(len(rows)), key=lambda row: (exact[row], row))
    changes = [
        place == 0 or exact[row] != exact[ordered[place - 1]]
        for place, row in enumerate(ordered)
    ]
    assert first.tolist() == changes
