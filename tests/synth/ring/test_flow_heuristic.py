"""Laps of a ring: no span is used twice, every arc is served, gains decide."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lightloom.synth.ring.flow_heuristic import mean_flows

NODES = 7
ARCS = st.lists(
    st.tuples(
        st.integers(0, NODES - 1), st.integers(1, NODES - 1), st.integers(1, 2**40)
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda arc: arc[:2],
)


@given(ARCS, st.integers(1, 20))
def test_laps_fit_one_wavelength(arcs: list[tuple[int, int, int]], laps: int) -> None:
    """Across a span the shares add up to one at most; every arc has some."""
    begin, hops, size = (np.array(column) for column in zip(*arcs, strict=True))
    share = mean_flows(begin, hops, size, NODES, laps)
    assert (share > 0).all()
    for span in range(NODES):
        assert share[(span - begin) % NODES < hops].sum() <= 1 + 1e-9


def test_small_demands_come_first() -> None:
    """One long arc of few bytes beats two short ones of many, until it is served."""
    begin, hops = np.array([0, 0, 2]), np.array([4, 2, 2])
    # In steps of 10 bytes: the long arc takes a lap, the others three.
    share = mean_flows(begin, hops, np.array([10, 30, 30]), 6, 3)
    assert share.tolist() == [1 / 4, 3 / 4, 3 / 4]


def test_nothing_to_serve_takes_no_lap() -> None:
    """Without arcs there are no shares."""
    none = np.zeros(0, dtype=np.int64)
    assert mean_flows(none, none, none, 6, 3).tolist() == []
