"""Dimension-ordered routes: along one side of the grid first, then the other."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.routing.graph import capacity_by_id, check_reachable, check_requests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy.sparse import csr_array

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath


def dimension_ordered(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    first: Literal["row", "column"] = "row",
) -> Ragged:
    """Return the shortest route of each request that turns at most once.

    Parameters
    ----------
    fabric
        The grid.
    src, dst
        Tiles, shape (rows,).
    first
        ``row``: along the source's row to the destination's column, then along
        that column ("XY"); ``column``: along the source's column first ("YX").

    Returns
    -------
    Tiles of each route, both ends included; a request from a tile to itself has
    that one tile. Vectorised, O(total length).

    Examples
    --------
    >>> from lightloom.instances.fabrics.lightpath import Lightpath
    >>> grid = Lightpath(rows=2, cols=3)
    >>> dimension_ordered(grid, np.array([0]), np.array([5])).to_lists()
    [[0, 1, 2, 5]]
    """
    down = dst // fabric.cols - src // fabric.cols
    right = dst % fabric.cols - src % fabric.cols
    legs = [(right, 1), (down, fabric.cols)]
    (long, long_stride), (short, short_stride) = legs if first == "row" else legs[::-1]
    lengths = np.abs(down) + np.abs(right) + 1
    request = np.repeat(np.arange(len(src), dtype=np.int64), lengths)
    hop = np.arange(len(request)) - (np.cumsum(lengths) - lengths)[request]
    turn = np.abs(long)[request]
    tiles = src[request]
    tiles += np.minimum(hop, turn) * (np.sign(long) * long_stride)[request]
    tiles += np.maximum(hop - turn, 0) * (np.sign(short) * short_stride)[request]
    return Ragged.from_lengths(lengths, tiles)


Route: TypeAlias = tuple[int, ...]
"""Tiles, both ends included."""


def bent_routes(fabric: Lightpath, src: int, dst: int) -> list[Route]:
    """Return shortest routes between two tiles that turn at most twice.

    Returns tiles of each: those that turn once first, then those that turn halfway.
    """
    (row, col), (to_row, to_col) = divmod(src, fabric.cols), divmod(dst, fabric.cols)
    half = (row + to_row) // 2, (col + to_col) // 2
    corners = (
        [(row, to_col)],
        [(to_row, col)],
        [(row, half[1]), (to_row, half[1])],
        [(half[0], col), (half[0], to_col)],
    )
    routes = []
    for turns in corners:
        tiles = [src]
        for turn in [*turns, (to_row, to_col)]:
            at = divmod(tiles[-1], fabric.cols)
            down, right = (int(np.sign(b - a)) for a, b in zip(at, turn, strict=True))
            hops = abs(turn[0] - at[0]) + abs(turn[1] - at[1])
            step = down * fabric.cols + right
            tiles += [tiles[-1] + step * hop for hop in range(1, hops + 1)]
        routes.append(tuple(tiles))
    return list(dict.fromkeys(routes))


def routes_beside(fabric: Lightpath, src: int, dst: int) -> list[Route]:
    """Return routes that run beside the line between two tiles of a row or column.

    Returns tiles of each, two hops more than the line: up to two, none for other tiles.
    """
    (row, col), (to_row, to_col) = divmod(src, fabric.cols), divmod(dst, fabric.cols)
    if (row == to_row) == (col == to_col):
        return []
    step, place, lines = (
        (fabric.cols, row, fabric.rows) if row == to_row else (1, col, fabric.cols)
    )
    line = bent_routes(fabric, src, dst)[0]
    return [
        (src, *(tile + side * step for tile in line), dst)
        for side in (-1, 1)
        if 0 <= place + side < lines
    ]


def lit_circuits(rows: Iterable[tuple[Route, int]]) -> Circuits:
    """Return (route, wavelength) rows as circuits, one row a route.

    Rows are sorted by source, destination and route, wavelengths ascend.
    """
    lit: dict[Route, list[int]] = {}
    for route, wavelength in rows:
        lit.setdefault(route, []).append(wavelength)
    routes = sorted(lit, key=lambda route: (route[0], route[-1], route))
    return Circuits(
        np.array([route[0] for route in routes], dtype=np.int64),
        np.array([route[-1] for route in routes], dtype=np.int64),
        Ragged.from_lists([sorted(lit[route]) for route in routes]),
        Ragged.from_lists([list(route) for route in routes]),
    )


def random_shortest(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    *,
    candidates: int,
    seed: int,
    capacity: IntArray | None = None,
) -> Ragged:
    """Return for each request one of its k shortest simple paths, drawn at random.

    The candidates come from Yen's algorithm in hops (`scipy.sparse.csgraph.yen`),
    once per distinct pair; where paths are equally long, it decides which of them
    are among the candidates. Every candidate is equally likely.

    `src`, `dst`: tiles of the requests, shape (requests,). `candidates`: number k of
    shortest paths to draw from, at least 1; pairs that have fewer simple paths draw
    from all of them. `capacity`: capacity of each edge in the order of
    ``fabric.edges()``; edges of capacity 0 are not used.

    Raises `InputError` if requests or capacities do not fit the grid, or `candidates`
    is below 1; `InfeasibleError` if edges of capacity 0 leave a request without a
    route.

    O(k length (nodes log nodes)) for each distinct pair: 0.4 ms with k = 4 on 256
    tiles.
    """
    if candidates < 1:
        what = "too few paths to draw from"
        raise InputError(what, where="candidates", found=candidates, allowed=">= 1")
    check_requests(fabric, src, dst)
    by_id = capacity_by_id(fabric, capacity)
    check_reachable(fabric, src, dst, by_id)
    if not len(src):
        return Ragged.from_lists([])
    closed = tuple(np.flatnonzero(by_id == 0).tolist())
    rng = np.random.default_rng(seed)
    pair = src * fabric.node_count + dst
    pairs, first, counts = np.unique(pair, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(first, kind="stable"), np.cumsum(counts)[:-1])
    routes: list[list[int]] = [[]] * len(src)
    for number, rows in zip(pairs.tolist(), members, strict=True):
        source, sink = divmod(number, fabric.node_count)
        paths = _shortest_paths(fabric, closed, source, sink, candidates)
        picks = rng.integers(len(paths), size=len(rows)).tolist()
        for row, pick in zip(rows.tolist(), picks, strict=True):
            routes[row] = paths[pick]
    return Ragged.from_lists(routes)


@functools.lru_cache(maxsize=2**17)
def _shortest_paths(
    fabric: Lightpath, closed: tuple[int, ...], source: int, sink: int, candidates: int
) -> list[list[int]]:
    """Return the tiles of the shortest simple paths of a pair, the shortest first.

    Remembered: rounds ask for the same pairs again and again.
    """
    from scipy.sparse.csgraph import yen

    graph = _open_graph(fabric, closed)
    _, before = yen(graph, source, sink, candidates, return_predecessors=True)
    return [_walk(each, source, sink) for each in before]


@functools.lru_cache(maxsize=4)
def _open_graph(fabric: Lightpath, closed: tuple[int, ...]) -> csr_array:
    """Return the edges but those of the closed ids, each of length 1."""
    from scipy.sparse import csr_array

    tail, head = fabric.edges()
    open_ = ~np.isin(fabric.edge_ids(tail, head), closed)
    # Yen's algorithm accepts 32-bit indices only.
    ends = (tail[open_].astype(np.int32), head[open_].astype(np.int32))
    nodes = fabric.node_count
    return csr_array((np.ones(len(ends[0])), ends), shape=(nodes, nodes))


def _walk(before: IntArray, source: int, sink: int) -> list[int]:
    """Return the tiles of a path, given each tile's predecessor on it."""
    tiles = [sink]
    while tiles[-1] != source:
        tiles.append(int(before[tiles[-1]]))
    tiles.reverse()
    return tiles
