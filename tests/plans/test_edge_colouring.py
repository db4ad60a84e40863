"""Tests of bipartite edge colouring."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.plans.edge_colouring import edge_colours


def assert_proper(
    src: np.ndarray, dst: np.ndarray, colours: np.ndarray, number: int
) -> None:
    """Assert that no colour repeats an end, and that colours are below `number`."""
    assert colours.shape == src.shape
    assert colours.min(initial=0) >= 0
    assert colours.max(initial=-1) < number
    for ends in (src, dst):
        assert len(set(zip(ends.tolist(), colours.tolist(), strict=True))) == len(src)


def largest_degree(src: np.ndarray, dst: np.ndarray) -> int:
    """Return the most edges at one source or one destination."""
    counts = [np.unique(ends, return_counts=True)[1] for ends in (src, dst)]
    return max(int(count.max(initial=0)) for count in counts)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(5, 12)), max_size=60))
def test_proper_with_as_many_colours_as_the_largest_degree(
    rows: list[tuple[int, int]],
) -> None:
    """Any multigraph, parallel edges included, gets a proper minimum colouring."""
    edges = np.array(rows, dtype=np.int64).reshape(-1, 2)
    src, dst = edges[:, 0], edges[:, 1]
    assert_proper(src, dst, edge_colours(src, dst), largest_degree(src, dst))


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30),
    st.integers(0, 40),
)
def test_fewest_raises_the_number_of_colours(
    rows: list[tuple[int, int]], fewest: int
) -> None:
    """With more colours allowed, the colouring stays proper and within them."""
    edges = np.array(rows, dtype=np.int64).reshape(-1, 2)
    src, dst = edges[:, 0], edges[:, 1]
    number = max(largest_degree(src, dst), fewest)
    assert_proper(src, dst, edge_colours(src, dst, fewest=fewest), number)


@pytest.mark.parametrize("nodes", [2, 3, 16, 64, 100])
def test_all_to_all_splits_into_permutations(nodes: int) -> None:
    """All pairs of n nodes are n - 1 colours of n rows each."""
    src, dst = np.divmod(np.arange(nodes * nodes), nodes)
    other = src != dst
    colours = edge_colours(src[other], dst[other])
    assert_proper(src[other], dst[other], colours, nodes - 1)
    assert np.bincount(colours).tolist() == [nodes] * (nodes - 1)


def test_star_takes_one_colour_an_edge() -> None:
    """A single source with many destinations needs a colour for each."""
    colours = edge_colours(np.zeros(50, dtype=np.int64), np.arange(50))
    assert sorted(colours.tolist()) == list(range(50))


def test_no_edges() -> None:
    """An empty graph has an empty colouring."""
    none = np.zeros(0, dtype=np.int64)
    assert edge_colours(none, none).tolist() == []


def test_node_numbers_may_be_large() -> None:
    """Only how often a node appears counts, not its number."""
    src = np.array([10**15, 10**15, 7], dtype=np.int64)
    dst = np.array([3, 10**12, 3], dtype=np.int64)
    assert_proper(src, dst, edge_colours(src, dst), 2)


def test_same_colours_under_two_hash_seeds() -> None:
    """The colouring does not depend on the hash seed of the interpreter."""
    code = (
        "import numpy as np; from lightloom.plans.edge_colouring import edge_colours;"
        "r = np.random.default_rng(1); "
        "print(edge_colours(r.integers(0, 20, 300), r.integers(0, 20, 300)).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
