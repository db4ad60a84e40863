"""The dearest lap: as an exhaustive search finds it, and as synthesis does."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.synth.ring.column_generation import PricedLaps
from lightloom.validate.certificates.circuits_per_byte import dearest_lap

Arc = tuple[int, int, int]


@st.composite
def priced_arcs(draw: st.DrawFn) -> tuple[list[Arc], int]:
    """Draw up to seven arcs of a small ring, with prices."""
    nodes = draw(st.integers(1, 6))
    arc = st.tuples(st.integers(0, nodes - 1), st.integers(1, nodes), st.integers(0, 9))
    return draw(st.lists(arc, max_size=7)), nodes


def _spans(arc: Arc, nodes: int) -> set[int]:
    return {(arc[0] + hop) % nodes for hop in range(arc[1])}


def _by_search(arcs: list[Arc], nodes: int) -> int:
    most = 0
    for count in range(1, len(arcs) + 1):
        for several in itertools.combinations(arcs, count):
            spans = [_spans(arc, nodes) for arc in several]
            if sum(map(len, spans)) == len(set().union(*spans)):
                most = max(most, sum(price for *_, price in several))
    return most


@settings(max_examples=300)
@given(priced_arcs())
def test_the_dearest_lap_is_found(question: tuple[list[Arc], int]) -> None:
    """Checker and synthesis agree with the search of everything."""
    arcs, nodes = question
    best = _by_search(arcs, nodes)
    assert dearest_lap(arcs, nodes) == best
    begin, hops, price = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
    worth, chosen = PricedLaps(begin, hops, nodes).best(price.astype(np.float64))
    assert worth == best == sum(arcs[arc][2] for arc in chosen)
    assert _by_search([arcs[arc] for arc in chosen], nodes) == best


def test_a_lap_may_cross_the_cut() -> None:
    """Two arcs that both cross every cut exclude each other; one of them is taken."""
    assert dearest_lap([(0, 3, 5), (2, 3, 7), (0, 1, 1)], 4) == 7
    assert dearest_lap([(0, 3, 5), (3, 1, 2)], 4) == 7
    assert dearest_lap([], 4) == 0
