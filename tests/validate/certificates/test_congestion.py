"""Edge lengths and cuts prove what they prove, in integers; false ones are refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest

from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.congestion import (
    MOST_UNITS,
    CongestionQuestion,
    EdgeLengths,
    check_edge_lengths,
    congestion_of,
)
from lightloom.validate.certificates.witness import NotProvenError

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


@dataclass(frozen=True, eq=False)
class Claim:
    """All that a check is given."""

    tail: IntArray
    head: IntArray
    capacity: IntArray
    src: IntArray
    dst: IntArray
    length: IntArray
    denominator: int
    nodes: int = 4

    def check(self) -> int:
        """Return what is proved."""
        edges = (self.tail, self.head, self.capacity)
        witness = EdgeLengths(self.length, self.denominator)
        return check_edge_lengths(self.nodes, edges, self.src, self.dst, witness)


# A ring of four nodes, one way round; its last edge is twice as wide.
RING = Claim(
    tail=column([0, 1, 2, 3]),
    head=column([1, 2, 3, 0]),
    capacity=column([1, 1, 1, 2]),
    src=column([0, 0, 1]),
    dst=column([2, 3, 0]),
    length=column([3, 1, 2, 1]),
    denominator=8,
)


def test_distances_are_added_and_rounded_up() -> None:
    """Distances 4, 6 and 4 of 8 units make 14 / 8, so no routing does below 2."""
    assert RING.check() == 2


def test_a_cut_is_edge_lengths() -> None:
    """One edge of length 1 proves the requests that cross it."""
    cut = replace(RING, length=column([0, 1, 0, 0]), denominator=1)
    assert cut.check() == 3


def test_no_requests_prove_nothing() -> None:
    """Without requests the bound is 0."""
    assert replace(RING, src=column([]), dst=column([])).check() == 0


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_networkx_in_fractions(seed: int) -> None:
    """The bound is the sum of distances in exact fractions, closed edges left out."""
    rng = seeded_random(seed)
    ring = [(a, (a + 1) % 7) for a in range(7)]
    chords = [(a, b) for a in range(7) for b in range(7) if a != b and (b - a) % 7 > 1]
    edges = ring + rng.sample(chords, 12)
    capacity = [rng.randint(1, 3) for _ in ring] + [
        rng.randint(0, 3) for _ in range(12)
    ]
    # Large enough that one wrong bit of a double would show.
    units = [rng.randrange(2**44) if amount else 0 for amount in capacity]
    total = sum(a * b for a, b in zip(capacity, units, strict=True))
    graph = nx.DiGraph()
    for (tail, head), amount, unit in zip(edges, capacity, units, strict=True):
        if amount:
            graph.add_edge(tail, head, weight=unit)
    pairs = [rng.sample(range(7), 2) for _ in range(30)]
    expected = sum(
        Fraction(nx.dijkstra_path_length(graph, a, b), total) for a, b in pairs
    )
    claim = Claim(
        column(a for a, _ in edges),
        column(b for _, b in edges),
        column(capacity),
        column(a for a, _ in pairs),
        column(b for _, b in pairs),
        column(units),
        total,
        nodes=7,
    )
    assert claim.check() == ceil(expected)


def test_sums_do_not_overflow() -> None:
    """Thousands of requests over lengths near the limit are added exactly."""
    half = MOST_UNITS // 2
    many = np.zeros(5000, dtype=np.int64)
    claim = Claim(
        column([0, 1]),
        column([1, 0]),
        column([1, 1]),
        many,
        many + 1,
        column([half, half - 1]),
        2 * half - 1,
        nodes=2,
    )
    assert claim.check() == 2501


FALSE = {
    "too few lengths": replace(RING, length=RING.length[:3]),
    "too many lengths": replace(RING, length=column([3, 1, 2, 1, 0])),
    "lengths in floating point": replace(RING, length=RING.length.astype(float)),
    "a negative length": replace(RING, length=column([3, 1, 4, -1])),
    "a denominator too small": replace(RING, denominator=7),
    "a denominator too large": replace(RING, denominator=9),
    "a denominator of zero": replace(RING, length=column([0] * 4), denominator=0),
    "a fractional denominator": replace(RING, denominator=8.0),  # type: ignore[arg-type]
    "a truth for a denominator": replace(
        RING, length=column([0, 1, 0, 0]), denominator=True
    ),
    "capacities left out of the sum": replace(RING, denominator=7),
    "beyond exact doubles": replace(
        RING, length=column([MOST_UNITS, 1, 0, 0]), denominator=MOST_UNITS + 1
    ),
    "a sum that wraps round to the denominator": replace(
        RING,
        length=column([2**62, 2**62, 2**62, 2**61 + 4]),
        denominator=8,
    ),
    "a length on a closed edge": replace(
        RING, capacity=column([1, 1, 1, 0]), src=column([0]), dst=column([2])
    ),
    "an edge twice": replace(
        RING, tail=column([0, 0, 2, 3]), head=column([1, 1, 3, 0])
    ),
    "an edge to nowhere": replace(RING, head=column([1, 2, 3, 4])),
    "an edge from below": replace(RING, tail=column([-1, 1, 2, 3])),
    "an edge to itself": replace(RING, head=column([0, 2, 3, 0])),
    "a negative capacity": replace(RING, capacity=column([1, 1, 4, -1])),
    "a missing capacity": replace(RING, capacity=column([1, 1, 1])),
    "a request from outside": replace(RING, src=column([0, 0, 4])),
    "a request to itself": replace(RING, src=column([2, 0, 1])),
    "half a request": replace(RING, src=column([0, 0])),
    "a request without a route": replace(
        RING,
        capacity=column([1, 1, 1, 0]),
        length=column([3, 1, 2, 0]),
        denominator=6,
    ),
}


@pytest.mark.parametrize("name", FALSE)
def test_false_witnesses_are_refused(name: str) -> None:
    """Nothing is proved by lengths, graphs or requests that break a rule."""
    with pytest.raises(InputError):
        FALSE[name].check()


def test_a_request_without_a_route_is_named() -> None:
    """The refusal says which pair it is."""
    with pytest.raises(InputError, match="no route from 1 to 0"):
        FALSE["a request without a route"].check()


def test_longer_on_one_edge_alone_is_refused() -> None:
    """A longer edge would raise the bound, and no longer adds up."""
    for edge in range(4):
        longer = RING.length.copy()
        longer[edge] += 1
        with pytest.raises(InputError, match="add up"):
            replace(RING, length=longer).check()


GRID = Lightpath(rows=4, cols=4)


def _by_cut(fabric: Lightpath, src: IntArray, dst: IntArray, nodes: list[int]) -> int:
    """Return the largest bound that a node set proves."""
    question, bound = CongestionQuestion(fabric, src, dst), 0
    while True:
        try:
            question.prove("cut", {"nodes": [*nodes]}, bound + 1)
        except NotProvenError:
            return bound
        bound += 1


def route_by_row(src: int, dst: int, cols: int) -> list[int]:
    """Return the route along the row first, then along the column."""
    route, here = [src], src
    while here % cols != dst % cols:
        here += 1 if here % cols < dst % cols else -1
        route.append(here)
    while here != dst:
        here += cols if here < dst else -cols
        route.append(here)
    return route


def test_all_to_all_on_four_by_four() -> None:
    """Dimension-ordered all-to-all loads an edge 16 times, and no routes do better."""
    pairs = [(s, d) for s in range(16) for d in range(16) if s != d]
    src, dst = column(s for s, _ in pairs), column(d for _, d in pairs)
    routes = Ragged.from_lists([route_by_row(s, d, 4) for s, d in pairs])
    congestion, (tail, head) = congestion_of(GRID, routes)
    assert congestion == 16
    assert abs(head - tail) in (1, 4)
    left = [node for node in range(16) if node % 4 < 2]
    assert _by_cut(GRID, src, dst, left) == 16


def test_congestion_counts_each_route_once_an_edge() -> None:
    """Loads agree with counting edge by edge."""
    rng = seeded_random(5)
    lists = [route_by_row(rng.randrange(16), rng.randrange(16), 4) for _ in range(40)]
    loads: dict[tuple[int, int], int] = {}
    for route in lists:
        for edge in pairwise(route):
            loads[edge] = loads.get(edge, 0) + 1
    congestion, edge = congestion_of(GRID, Ragged.from_lists(lists))
    assert congestion == max(loads.values()) == loads[edge]


def test_no_edges_no_congestion() -> None:
    """Routes that stay where they are load nothing."""
    assert congestion_of(GRID, Ragged.from_lists([])) == (0, (-1, -1))
    assert congestion_of(GRID, Ragged.from_lists([[3]])) == (0, (-1, -1))


@pytest.mark.parametrize("route", [[0, 2], [0, 16], [-1, 0], [3, 4]])
def test_what_is_no_path_is_refused(route: list[int]) -> None:
    """Jumps and tiles outside the grid are errors."""
    with pytest.raises(InputError):
        congestion_of(GRID, Ragged.from_lists([[0, 1], route]))


def test_cut_counts_both_directions() -> None:
    """The bound is the larger direction, over the open edges that cross."""
    line = Lightpath(rows=1, cols=3)
    src, dst = column([0, 0, 0, 2]), column([1, 2, 2, 0])
    assert _by_cut(line, src, dst, [0]) == 3
    assert _by_cut(line, src, dst, [2]) == 2
    assert _by_cut(line, src, dst, []) == 0
    closed = Lightpath(rows=2, cols=2, wafer_rows=1, fibers=0)
    with pytest.raises(InputError, match="no route from 0 to 2"):
        _by_cut(closed, column([0]), column([2]), [0])
    with pytest.raises(InputError, match="named twice"):
        _by_cut(line, src, dst, [0, 0])
