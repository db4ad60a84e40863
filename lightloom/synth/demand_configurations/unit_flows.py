"""Units of given lengths in configurations, by flows, the shortest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.synth.demand_configurations.lines import Lines


_LONGER = 1.01
_EQUAL = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class PairUnits:
    """What pairs are cut to.

    `pair`, `length`, `number`: so many units of a length for a pair; each of shape
    (kinds of units,). `overfull`: whether some line is known to be short of room for
    the longest of them.
    """

    pair: IntArray
    length: FloatArray
    number: IntArray
    overfull: bool = False


def cut_pairs(need: FloatArray, cut: float) -> PairUnits:
    """Return units of one length for every pair, and what is left of each."""
    whole = np.floor(need / cut * _EQUAL).astype(np.int64)
    rest = np.maximum(need - whole * cut, 0.0)
    pair = np.arange(len(need))
    length = np.concatenate([np.full(len(need), cut), rest])
    number = np.concatenate([whole, (rest > 0).astype(np.int64)])
    some = np.flatnonzero(number)
    return PairUnits(np.tile(pair, 2)[some], length[some], number[some])


def place_units(lines: Lines, units: PairUnits, count: int) -> IntArray | None:
    """Return how many units of each pair are in each configuration.

    The shortest configuration comes first: of every line it takes as many units as
    the others have no room for, and of all units the shortest, as far as a flow from
    sources to destinations finds enough. What it leaves are units for the others.

    Returns shape (pairs, configurations), the longest first; ``None`` where units do
    not fit. In a configuration lasting as long as the longest unit in it, all are
    moved.
    """
    placing = _Placing(lines, units)
    found = np.zeros((len(lines.need), count), dtype=np.int64)
    for others in range(count - 1, -1, -1):
        taken = placing.take(others)
        if taken is None:
            return None
        found[:, others] = taken
    return found


class _Placing:
    """Units that are left, and the lines that they are on."""

    def __init__(self, lines: Lines, units: PairUnits) -> None:
        order = np.argsort(units.length, kind="stable")
        self._pair, self._length = units.pair[order], units.length[order]
        self._left = units.number[order]
        self._ends = lines.of_pair[self._pair]
        self._room = lines.capacity
        self._pairs, self._of_pair = len(lines.need), lines.of_pair

    def take(self, others: int) -> IntArray | None:
        """Return units of each pair for a configuration beside so many longer ones."""
        due = np.maximum(self._loads(self._left) - self._room * others, 0)
        if (due > self._room).any():
            return None
        if not due.any():
            return np.zeros(self._pairs, dtype=np.int64)
        longest = self._least_length(due)
        while True:
            short = (self._length <= longest * _EQUAL) & (self._left > 0)
            taken = self._flow(short, due)
            if taken is not None:
                self._remove(short, taken)
                return taken
            if longest >= self._length[-1]:
                return None
            longest *= _LONGER

    def _loads(self, number: IntArray) -> IntArray:
        """Return the units of each line."""
        loads = np.zeros(len(self._room), dtype=np.int64)
        for end in self._ends.T:
            np.add.at(loads, end, number)
        return loads

    def _least_length(self, due: IntArray) -> float:
        """Return the length up to which every line has the units that are due."""
        longest = 0.0
        for end in self._ends.T:
            order = np.argsort(end, kind="stable")  # by line, then by length
            line = end[order]
            so_far = np.cumsum(self._left[order])
            first = np.searchsorted(line, np.flatnonzero(due))
            held = first < len(line)
            held[held] &= line[first[held]] == np.flatnonzero(due)[held]
            first, wanted = first[held], due[due > 0][held]
            before = so_far[first] - self._left[order][first]
            place = np.searchsorted(so_far, before + wanted)
            if len(place):
                longest = max(longest, float(self._length[order][place].max()))
        return longest

    def _flow(self, short: npt.NDArray[np.bool_], due: IntArray) -> IntArray | None:
        """Return short units of pairs, as many on each line as are due and fit."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        number = np.zeros(self._pairs, dtype=np.int64)
        np.add.at(number, self._pair[short], self._left[short])
        pair = np.flatnonzero(number)
        src, dst = self._of_pair[pair].T
        line, half = np.arange(len(due)), len(due) // 2
        sends, receives = line[:half], line[half:]
        source, sink, start, end = len(due) + np.arange(4)
        # What is due flows from `start` to `end`; more may go from sink to source.
        spare, total = self._room - due, [due[:half].sum(), due[half:].sum()]
        arcs = [
            (src, dst, number[pair]),
            (np.full(half, start), sends, due[:half]),
            (np.full(half, source), sends, spare[:half]),
            (receives, np.full(half, end), due[half:]),
            (receives, np.full(half, sink), spare[half:]),
            (
                np.array([source, start, sink]),
                np.array([end, sink, source]),
                np.array([*total, int(self._room.sum())]),
            ),
        ]
        tail, head, most = (np.concatenate(part) for part in zip(*arcs, strict=True))
        used = most > 0
        shape = (int(end) + 1, int(end) + 1)
        arcs_held = most[used].astype(np.int32), (tail[used], head[used])
        found = maximum_flow(csr_array(arcs_held, shape=shape), int(start), int(end))
        if found.flow_value < sum(total):
            return None
        taken = np.zeros(self._pairs, dtype=np.int64)
        taken[pair] = np.asarray(found.flow[src, dst]).reshape(-1)
        return taken

    def _remove(self, short: npt.NDArray[np.bool_], taken: IntArray) -> None:
        """Take so many short units of each pair away, the longest first."""
        rows = np.flatnonzero(short)[::-1]
        rows = rows[np.argsort(self._pair[rows], kind="stable")]
        pair, left = self._pair[rows], self._left[rows]
        so_far = np.cumsum(left)
        first = np.searchsorted(pair, pair)
        before = so_far - left - (so_far - left)[first]
        self._left[rows] -= np.clip(taken[pair] - before, 0, left)


_CUTS = 48


@dataclass(frozen=True, eq=False)
class UnitShape:
    """Durations for units of one length and what is left of each pair.

    `durations`: of each configuration, the longest first, shape (configurations,).
    """

    durations: FloatArray
    cut: float


def unit_shapes(lines: Lines) -> dict[int, UnitShape]:
    """Return durations at which each line can be served, by their number.

    Every pair is cut to units of one length and a rest. Sorted, the longest are those
    of the first configuration, as many as a line has in it, and so on; a configuration
    lasts as long as the longest unit of it on any line.

    Returns for each number of configurations that some length needs, the shape of least
    sum.
    """
    best: dict[int, UnitShape] = {}
    least, most = lines.least_total * 1e-3, float(lines.need.max())
    for cut in np.geomspace(max(least, most / 64), most, _CUTS).tolist():
        durations = _durations(lines, cut)
        count = len(durations)
        if count not in best or durations.sum() < best[count].durations.sum():
            best[count] = UnitShape(durations, cut)
    return best


def _durations(lines: Lines, cut: float) -> FloatArray:
    """Return the durations for units of one length."""
    whole = np.floor(lines.need / cut * (1 + 1e-12)).astype(np.int64)
    rest = np.maximum(lines.need - whole * cut, 0.0)
    found = np.zeros(0)
    for line, pairs in enumerate(lines.members):
        room, full = int(lines.capacity[line]), int(whole[pairs].sum())
        rests = np.sort(rest[pairs])[::-1]
        units = np.concatenate([np.full(full, cut), rests[rests > 0]])[::room]
        longer, shorter = sorted((found, units), key=len, reverse=True)
        found = longer.copy()
        found[: len(shorter)] = np.maximum(found[: len(shorter)], shorter)
    return found
