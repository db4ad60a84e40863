"""Colouring of circular arcs: proper, within the colours, and none where none is."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.synth.ring.arcs import arc_colours, span_loads

Arcs = list[tuple[int, int]]


def _arcs(nodes: int, most: int) -> st.SearchStrategy[Arcs]:
    """Draw (first span, spans) of arcs."""
    arc = st.tuples(st.integers(0, nodes - 1), st.integers(1, nodes))
    return st.lists(arc, min_size=1, max_size=most)


def _columns(arcs: Arcs) -> tuple[np.ndarray, np.ndarray]:
    """Return first spans and lengths."""
    begin, hops = np.array(arcs, dtype=np.int64).T
    return begin, hops


def _spans(arc: tuple[int, int], nodes: int) -> set[int]:
    """Return the spans of an arc."""
    return {(arc[0] + hop) % nodes for hop in range(arc[1])}


def _fewest_colours(arcs: Arcs, nodes: int) -> int:
    """Return the chromatic number, by trying all colourings."""
    meet = [
        (i, j)
        for (i, one), (j, other) in itertools.combinations(enumerate(arcs), 2)
        if _spans(one, nodes) & _spans(other, nodes)
    ]
    for colours in range(1, len(arcs)):
        for chosen in itertools.product(range(colours), repeat=len(arcs)):
            if all(chosen[i] != chosen[j] for i, j in meet):
                return colours
    return len(arcs)


@settings(max_examples=60, deadline=None)
@given(_arcs(5, 6))
def test_finds_a_colouring_exactly_where_one_is(arcs: Arcs) -> None:
    """On small rings the search misses no colouring that trying them all finds."""
    begin, hops = _columns(arcs)
    fewest = _fewest_colours(arcs, 5)
    for colours in range(1, fewest):
        assert arc_colours(begin, hops, 5, colours, effort=200) is None
    for colours in (fewest, fewest + 2):
        colour = arc_colours(begin, hops, 5, colours)
        assert colour is not None
        assert colour.max() < colours
        for i, j in itertools.combinations(range(len(arcs)), 2):
            if colour[i] == colour[j]:
                assert not _spans(arcs[i], 5) & _spans(arcs[j], 5)


@given(_arcs(7, 12))
def test_span_loads_count_arcs(arcs: Arcs) -> None:
    """A span's load is the number of arcs that contain it, whole rings too."""
    load = span_loads(*_columns(arcs), 7)
    assert load.tolist() == [
        sum(span in _spans(arc, 7) for arc in arcs) for span in range(7)
    ]


def test_three_arcs_of_a_triangle_need_three_colours() -> None:
    """Every span has two arcs, and yet two colours do not do."""
    begin, hops = np.array([0, 2, 1]), np.array([2, 2, 2])
    assert span_loads(begin, hops, 3).tolist() == [2, 2, 2]
    assert arc_colours(begin, hops, 3, 2) is None
    colour = arc_colours(begin, hops, 3, 3)
    assert colour is not None
    assert sorted(colour.tolist()) == [0, 1, 2]
