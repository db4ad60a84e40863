"""Free ports of optical switches for the pairs with the fewest circuits a byte."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.circuit_ratios import order_by_ratio

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.columns import IntArray


class SpareCircuits:
    """Deals out free ports, always to the pair with the least circuits a byte.

    A pair that cannot be raised has a full row or a full column, and stays as it is,
    as ports are not given back. Pairs of equal ratio are raised together if all of them
    can be, else as many of them as possible: a maximum flow. Without such conflicts no
    other circuits have sorted ratios that are lexicographically larger; `conflicts`
    counts the ties in which a choice was made.

    `src`, `dst`, `size_bytes`: the pairs, shape (pairs,), ends numbered 0 to `nodes` -
    1. `counts`: circuits they have; rows and columns hold `ports` at most.
    """

    def __init__(
        self,
        src: IntArray,
        dst: IntArray,
        size_bytes: IntArray,
        counts: IntArray,
        nodes: int,
        ports: int,
    ) -> None:
        self._ends = src, dst
        self._size = size_bytes
        self.counts = counts.copy()
        self.conflicts = 0
        self._room: list[list[int]] = [
            (ports - np.bincount(end, weights=counts, minlength=nodes))
            .astype(np.int64)
            .tolist()
            for end in (src, dst)
        ]

    def deal(self) -> None:
        """Raise pairs until none can be raised.

        O(units log units), a unit being a circuit that one pair alone could get,
        beside a maximum flow for each conflict.
        """
        units, first = self._units()
        src, dst = (end[units].tolist() for end in self._ends)
        rows, columns = self._room
        pairs = units.tolist()
        ends = [*np.flatnonzero(first).tolist()[1:], len(pairs)]
        raised: list[int] = []
        begin = 0
        for end in ends if pairs else ():
            places = range(begin, end)
            begin = end
            free = [
                place for place in places if rows[src[place]] and columns[dst[place]]
            ]
            if len(free) > 1 and (
                _crowded(rows, [src[place] for place in free])
                or _crowded(columns, [dst[place] for place in free])
            ):
                self.conflicts += 1
                free = self._matched(free, src, dst)
            for place in free:
                rows[src[place]] -= 1
                columns[dst[place]] -= 1
                raised.append(pairs[place])
        np.add.at(self.counts, np.array(raised, dtype=np.int64), 1)

    def _units(self) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return the pair of each unit, by the ratio it is raised from."""
        src, dst = self._ends
        room = [np.array(side, dtype=np.int64) for side in self._room]
        most = np.minimum(room[0][src], room[1][dst])
        pair = np.repeat(np.arange(len(src)), most)
        earlier = np.arange(len(pair)) - np.repeat(np.cumsum(most) - most, most)
        order, first = order_by_ratio(self.counts[pair] + earlier, self._size[pair])
        return pair[order], first

    def _matched(self, places: list[int], src: list[int], dst: list[int]) -> list[int]:
        """Return a largest set of places for which there is room, in order."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        rows, row = np.unique([src[place] for place in places], return_inverse=True)
        columns, column = np.unique(
            [dst[place] for place in places], return_inverse=True
        )
        row, column = 1 + row, 1 + len(rows) + column
        sink = 1 + len(rows) + len(columns)
        inner = np.arange(1, sink)
        tail = np.concatenate([0 * rows, row, inner[len(rows) :]])
        head = np.concatenate([inner[: len(rows)], column, 0 * columns + sink])
        room = [
            *(self._room[0][node] for node in rows.tolist()),
            *(1 for _ in places),
            *(self._room[1][node] for node in columns.tolist()),
        ]
        graph = csr_array(
            (np.array(room, dtype=np.int32), (tail, head)), shape=(sink + 1, sink + 1)
        )
        flow = maximum_flow(graph, 0, sink).flow
        carried = np.asarray(flow[row, column]).reshape(-1)
        return [places[place] for place in np.flatnonzero(carried > 0).tolist()]


def _crowded(room: list[int], ends: list[int]) -> bool:
    """Return whether some node has less room than it has ends."""
    return any(count > room[node] for node, count in Counter(ends).items())
