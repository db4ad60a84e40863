"""Congestion: circuits on the most loaded directed edge of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.errors import InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.witness import (
    InapplicableError,
    Objective,
    WitnessError,
    keys,
    node_mask,
    require,
    rows,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from lightloom.core.certificate import Number, Witness
    from lightloom.core.columns import IntArray, Ragged
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True, eq=False)
class CongestionQuestion:
    """Least congestion of routes between given ends.

    `fabric`: the grid; all its open edges count alike. `src`, `dst`: ends of the
    routes, shape (requests,); repeated rows count each.
    """

    fabric: Lightpath
    src: IntArray
    dst: IntArray

    @property
    def capacity(self) -> IntArray:
        """Of each edge in the order of ``fabric.edges()``: 1, or 0 if it is closed."""
        waveguides = self.fabric.edge_waveguides(*self.fabric.edges())
        return (waveguides > 0).astype(np.int64)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Edge lengths, and their special case, cuts."""
        return ("cut", "edge-lengths")

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`; one shortest-path search for each distinct source."""
        by_cut = kind == "cut"
        proven = self._by_cut(witness) if by_cut else self._by_lengths(witness)
        require(bound, proven)

    def _by_cut(self, witness: Witness) -> int:
        """Return what a node set proves: equal lengths of the edges that leave it.

        Of those that enter it as well; the larger of both.
        """
        keys(witness, "nodes")
        inside = node_mask(witness, "nodes", self.fabric.node_count)
        tail, head = self.fabric.edges()
        proven = 0
        for side in (inside, ~inside):
            length = (side[tail] & ~side[head]) * self.capacity
            if length.any():
                lengths = EdgeLengths(length, int(length.sum()))
                proven = max(proven, self._proven(lengths))
        return proven

    def _by_lengths(self, witness: Witness) -> int:
        keys(witness, "edges", "denominator")
        denominator = witness["denominator"]
        if not isinstance(denominator, int):
            message = f"denominator {denominator} is not an integer"
            raise WitnessError(message)
        length = _lengths(self.fabric, rows(witness, "edges", 3), len(self.capacity))
        return self._proven(EdgeLengths(length, denominator))

    def _proven(self, lengths: EdgeLengths) -> int:
        edges = (*self.fabric.edges(), self.capacity)
        count = self.fabric.node_count
        return check_edge_lengths(count, edges, self.src, self.dst, lengths)


def lengths_witness(fabric: Lightpath, lengths: EdgeLengths) -> Witness:
    """Return edge lengths as a file holds them: (tail, head, numerator) rows.

    `lengths`: one for each edge, in the order of ``fabric.edges()``.
    """
    tail, head = fabric.edges()
    used = np.flatnonzero(lengths.length)
    table = np.stack([tail[used], head[used], lengths.length[used]], axis=1)
    return {"edges": table.tolist(), "denominator": lengths.denominator}


def _lengths(fabric: Lightpath, given: IntArray, count: int) -> IntArray:
    """Return the length of every edge of a grid, 0 where none is given."""
    nodes = fabric.node_count
    ends = given[:, :2]
    ids = np.full(len(given), -1, dtype=np.int64)
    inside = ((ends >= 0) & (ends < nodes)).all(axis=1)
    ids[inside] = fabric.edge_ids(given[inside, 0], given[inside, 1])
    edges = fabric.edge_ids(*fabric.edges())
    if (ids < 0).any() or len(np.unique(ids)) != len(ids):
        message = "a row of edges names no edge of the grid, or one named before"
        raise WitnessError(message)
    length = np.zeros(count, dtype=np.int64)
    length[np.searchsorted(edges, ids)] = given[:, 2]
    return length


def measure(fabric: AnyFabric, schedule: Schedule) -> tuple[CongestionQuestion, int]:
    """Return the ends of a schedule's circuits, and how crowded their routes are.

    Each wavelength of a row is a route of its own.

    Raises `InapplicableError` if it is no schedule of one segment on a grid.
    """
    if not isinstance(fabric, Lightpath) or len(schedule.segments) != 1:
        message = "congestion is that of light paths that are all held at once"
        raise InapplicableError(message)
    circuits = schedule.segments[0].circuits
    row = circuits.lists("wavelengths").row_of_value
    question = CongestionQuestion(fabric, circuits.src[row], circuits.dst[row])
    value, _ = congestion_of(fabric, circuits.lists("route").take(row))
    return question, value


OBJECTIVE = Objective("congestion", largest=False, measure=measure)


def congestion_of(fabric: Lightpath, route: Ragged) -> tuple[int, tuple[int, int]]:
    """Return the most routes on a directed edge, and the first such edge.

    `route`: node ids from source to destination of each request.

    Returns congestion, edge 0 and (-1, -1) where no route crosses an edge.

    Raises `InputError` if a route is not a path of the grid.
    """
    values, rows = route.values, route.row_of_value
    if len(values) and not (values.min() >= 0 and values.max() < fabric.node_count):
        raise InputError("a route leaves the grid", where="route")
    inner = rows[:-1] == rows[1:]
    tail, head = values[:-1][inner], values[1:][inner]
    if (fabric.edge_ids(tail, head) < 0).any():
        raise InputError("a route jumps between tiles", where="route")
    if not len(tail):
        return 0, (-1, -1)
    edges, load = np.unique(tail * fabric.node_count + head, return_counts=True)
    most = int(np.argmax(load))
    first, second = divmod(int(edges[most]), fabric.node_count)
    return int(load[most]), (first, second)


MOST_UNITS = 2**52
"""Largest denominator. All lengths together are at most that, so every sum of
lengths that a search for shortest paths forms is below 2**53, where doubles are
exact."""
_BLOCK = 2**22
"""Distances held at a time."""


@dataclass(frozen=True, eq=False)
class EdgeLengths:
    """A witness: lengths of the edges of a graph, as fractions.

    `length`: numerator of each directed edge, shape (edges,): non-negative integers, 0
    where the capacity is 0. `denominator`: of all of them: the sum of capacity times
    numerator.
    """

    length: IntArray
    denominator: int


def check_edge_lengths(
    node_count: int,
    edges: tuple[IntArray, IntArray, IntArray],
    src: IntArray,
    dst: IntArray,
    witness: EdgeLengths,
) -> int:
    """Return the congestion that no routes of the requests can beat.

    With l_e the lengths, c_e the capacities and sum c_e l_e = 1: routes of congestion
    C load every edge at most C c_e, so all of them together have a length of at most
    C; and each has at least the distance between its ends. So C is at least the sum
    of the distances, and as an integer at least that rounded up.

    `node_count`: nodes are 0 to ``node_count - 1``. `edges`: tail, head and capacity of
    each directed edge, shape (edges,); edges of capacity 0 are closed. `src`, `dst`:
    requests, shape (requests,); repeated rows count each.

    Returns ``ceil(sum of distances)``, 0 where there is no request. Integers
    throughout.

    Raises `InputError`: a graph, requests or lengths that are none; lengths that do not
    add up to the denominator; a denominator above `MOST_UNITS`; a request without a
    route.

    One search by Dijkstra's algorithm for each distinct source.
    """
    _check_graph(node_count, *edges)
    _check_requests(node_count, src, dst)
    _check_witness(edges[2], witness)
    total = _total_distance(node_count, edges, src, dst, witness.length)
    return -(-total // witness.denominator)


def _check_graph(
    node_count: int, tail: IntArray, head: IntArray, capacity: IntArray
) -> None:
    """Refuse edges that are none, named twice, or of negative capacity."""
    for name, values in (("tail", tail), ("head", head), ("capacity", capacity)):
        _check_integers(f"edges.{name}", values, len(tail))
    if len(tail) and not (
        min(tail.min(), head.min()) >= 0 and max(tail.max(), head.max()) < node_count
    ):
        raise InputError("an edge ends outside the graph", where="edges")
    if (tail == head).any():
        raise InputError("an edge runs from a node to itself", where="edges")
    if len(np.unique(tail * node_count + head)) != len(tail):
        raise InputError("an edge is named twice", where="edges")
    if len(capacity) and capacity.min() < 0:
        raise InputError("a capacity is negative", where="edges.capacity")


def _check_requests(node_count: int, src: IntArray, dst: IntArray) -> None:
    """Refuse requests that are no pairs of two nodes."""
    for name, nodes in (("source", src), ("destination", dst)):
        _check_integers(f"requests.{name}", nodes, len(src))
        if len(nodes) and not (nodes.min() >= 0 and nodes.max() < node_count):
            raise InputError(f"a {name} outside the graph", where="requests")
    if (src == dst).any():
        raise InputError("a request runs from a node to itself", where="requests")


def _check_witness(capacity: IntArray, witness: EdgeLengths) -> None:
    """Refuse lengths that are no share of one."""
    length, denominator = witness.length, witness.denominator
    where = "edge lengths"
    _check_integers(where, length, len(capacity))
    if type(denominator) is not int or not 0 < denominator <= MOST_UNITS:
        what, allowed = "invalid denominator", f"1 to {MOST_UNITS}"
        raise InputError(what, where=where, found=denominator, allowed=allowed)
    if len(length) and length.min() < 0:
        raise InputError("a length is negative", where=where, found=int(length.min()))
    if length[capacity == 0].any():
        raise InputError("a closed edge has a length", where=where)
    # As Python integers: a product may exceed 64 bits.
    used = np.flatnonzero(length)
    products = zip(capacity[used].tolist(), length[used].tolist(), strict=True)
    total = sum(amount * units for amount, units in products)
    if total != denominator:
        what = "capacity times length does not add up to the denominator"
        raise InputError(what, where=where, found=total, allowed=str(denominator))


def _check_integers(where: str, values: IntArray, rows: int) -> None:
    """Refuse what is no column of so many integers."""
    if values.dtype != np.int64 or values.shape != (rows,):
        what, found = "invalid column of integers", f"{values.dtype} {values.shape}"
        raise InputError(what, where=where, found=found, allowed=f"int64 ({rows},)")


def _total_distance(
    node_count: int,
    edges: tuple[IntArray, IntArray, IntArray],
    src: IntArray,
    dst: IntArray,
    length: IntArray,
) -> int:
    """Return the sum of the distances of all requests."""
    from scipy.sparse.csgraph import dijkstra

    graph = _open_graph(node_count, edges, length)
    sources, row = np.unique(src, return_inverse=True)
    order = np.argsort(row, kind="stable")
    step = max(1, _BLOCK // max(node_count, 1))
    total = 0
    for first in range(0, len(sources), step):
        block = sources[first : first + step]
        distance = dijkstra(graph, indices=block)
        low, high = np.searchsorted(row[order], [first, first + len(block)])
        mine = order[low:high]
        distances = distance[row[mine] - first, dst[mine]]
        missed = mine[~np.isfinite(distances)]
        if len(missed):
            pair = f"no route from {src[missed[0]]} to {dst[missed[0]]}"
            raise InputError(pair, where=f"requests, row {missed[0]}")
        places = np.zeros(len(distances), dtype=np.int64)
        total += exact_sums(places, distances.astype(np.int64), 1)[0]
    return total


def _open_graph(
    node_count: int, edges: tuple[IntArray, IntArray, IntArray], length: IntArray
) -> csr_array:
    """Return the open edges with their lengths; a length of 0 is still an edge."""
    from scipy.sparse import csr_array

    tail, head, capacity = edges
    open_ = np.flatnonzero(capacity)
    order = open_[np.lexsort((head[open_], tail[open_]))]
    starts = np.searchsorted(tail[order], np.arange(node_count + 1))
    data = length[order].astype(np.float64)
    ends = (head[order].astype(np.int32), starts.astype(np.int32))
    return csr_array((data, *ends), shape=(node_count, node_count))
