"""Matrices as few weighted permutations that last little more than the busiest line.

Weighted permutations that cover a matrix, taken off it one after another.

As many permutations as the busiest node has partners are enough, if each covers all
nodes with most partners left, and wholly serves them (König). Which of the matchings
that do so is taken decides how long the permutations last together: at least as long
as the largest row or column sum, and that is what all rules here aim for.

Large matrices as permutations: the heavy half of all entries, then halves of it.

Entries that share a permutation should be of one size. Every line has its entries cut
into a heavy and a light half of equal numbers, by a maximum flow that moves only
entries near the median between the halves, and so on until permutations are left.

Entries of two permutations exchanged, so that they last less together.

The entries of two permutations form cycles. In each of them either permutation may
have the one half of the entries or the other. The larger halves all in one permutation
make the other one as short as can be.

Matrices of two levels as permutations: large entries coloured apart from small ones.

Peeling takes what is largest, permutation by permutation, and where the large entries
of a line run out early one of them is left for a permutation of small ones. Colours do
not: as many permutations hold all large entries as the busiest line has (König).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.edge_colouring import edge_colours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import FloatArray, IntArray


_POWERS = (0, 1, 2, 4)
_PEELED = 2**22
"""Most lines squared, times permutations, that are peeled; more are split."""
_PEELED_TOO = 2**26
"""The same, for those that are split to be peeled too."""
_PEELED_OFTEN = 2**19
"""The same, for all rules to be tried."""
_EXCHANGES = 512


def decompositions(
    src: IntArray,
    dst: IntArray,
    size: FloatArray,
    lines: int,
    *,
    thorough: bool = False,
) -> Iterator[Permutations]:
    """Yield permutations that cover a matrix, by several rules where it is small.

    `src`, `dst`: lines of the entries, 0 to `lines` - 1, no entry twice; shape
    (entries,). `size`: positive; the largest line sum is about 1. `thorough`: whether
    what is split, as it is large, is peeled too if that takes seconds.
    """
    most = max(int(np.bincount(end).max()) for end in (src, dst))
    work = lines * lines * most
    if work > _PEELED:
        yield split_by_magnitude(src, dst, size)
        if not thorough or work > _PEELED_TOO:
            return
    matrix = np.zeros((lines, lines))
    matrix[src, dst] = size
    for power in _POWERS if work <= _PEELED_OFTEN else _POWERS[:1]:
        yield exchanged(peel(matrix, power), _EXCHANGES)


def ports_by_size(src: IntArray, dst: IntArray, size_bytes: IntArray) -> IntArray:
    """Return a partial permutation for each pair; the first hold the largest pairs.

    As few as the busiest node has partners.

    `src`, `dst`: nodes, no pair twice; shape (pairs,), pairs > 0.
    """
    row, column = (
        np.unique(end, return_inverse=True)[1].astype(np.int64) for end in (src, dst)
    )
    lines = 1 + max(int(row.max()), int(column.max()))
    unit = max(float(np.bincount(e, weights=size_bytes).max()) for e in (row, column))
    size = (size_bytes / unit).astype(np.float64)
    best = min(
        decompositions(row, column, size, lines),
        key=lambda permutations: float(permutations.weight.sum()),
    )
    place = np.full((lines, lines), -1, dtype=np.int64)
    place[row, column] = np.arange(len(row))
    port = np.zeros(len(row), dtype=np.int64)
    largest = np.zeros(len(row))
    rows = np.arange(lines)
    order = np.argsort(-best.weight, kind="stable")
    for number, which in enumerate(order.tolist()):
        pair = place[rows, best.column[which]]
        part = best.part[which]
        more = (pair >= 0) & (part > 0)
        more[more] = part[more] > largest[pair[more]]
        port[pair[more]], largest[pair[more]] = number, part[more]
    return port


_ROUNDING = 1e-9
"""What is left of an entry is dropped below this share of what was taken."""
_REMATCHES = 3


@dataclass(frozen=True, eq=False)
class Permutations:
    """Permutations, and what each serves of the entries on it.

    `column`: ``column[k, i]`` is the column that permutation k joins row i to; shape
    (permutations, rows), as many rows as columns. `part`: what permutation k serves of
    entry (i, column[k, i]), 0 or more; same shape. Summed over permutations it is the
    matrix, but for rounding.
    """

    column: IntArray
    part: FloatArray

    @property
    def weight(self) -> FloatArray:
        """How long each lasts: the largest part that it serves."""
        weight: FloatArray = self.part.max(axis=1, initial=0.0)
        return weight


def peel(size: FloatArray, power: int) -> Permutations:
    """Return as many permutations as the busiest line has entries, which cover all.

    Each covers every line with most entries left, wholly. Among the matchings that do,
    with `power` 0 the one of the largest sum is taken. Else one is that keeps the line
    sums down: if the permutation lasts w and the largest line sum is s, a line that
    keeps more than s - w has an excess, and the sum of the excesses to that power is
    least.

    An assignment problem for each permutation, up to four with a positive `power`.
    """
    rest = size.copy()
    columns: list[IntArray] = []
    parts: list[FloatArray] = []
    while rest.any():
        column, weight = _next(rest, size, power)
        rows = np.arange(len(size))
        entry = rest[rows, column]
        part = np.minimum(entry, weight)
        left = entry - part
        left[left < _ROUNDING * weight] = 0.0
        rest[rows, column] = left
        columns.append(column)
        parts.append(part)
    shape = (len(columns), len(size))
    return Permutations(
        np.array(columns, dtype=np.int64).reshape(shape), np.array(parts).reshape(shape)
    )


def _next(rest: FloatArray, size: FloatArray, power: int) -> tuple[IntArray, float]:
    """Return the next permutation, and how long it has to last."""
    some = rest > 0
    lines = some.sum(axis=1), some.sum(axis=0)
    most = max(int(line.max()) for line in lines)
    critical = (lines[0] == most)[:, None] + (lines[1] == most)[None, :] * 1.0
    # Critical lines come first; a row that is idle otherwise joins a large entry.
    bonus = np.where(some, 10.0 * len(size) * critical, 1e-6 * size)

    def matched(gain: FloatArray) -> tuple[IntArray, float]:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(gain + bonus, maximize=True)
        entry = rest[rows, columns]
        served = (critical[rows, columns] > 0) & (entry > 0)
        return columns.astype(np.int64), float(entry[served].max())

    column, weight = matched(rest / rest.max())
    if not power:
        return column, weight
    totals = rest.sum(axis=1), rest.sum(axis=0)
    largest = max(float(total.max()) for total in totals)
    best: tuple[float, IntArray, float] | None = None
    for _ in range(_REMATCHES):
        taken = np.minimum(rest, weight)
        kept = largest - weight
        excess = sum(
            np.maximum(0.0, (total - taken - kept) / weight) ** power
            for total in (totals[0][:, None], totals[1][None, :])
        )
        column, lasts = matched(0.01 * taken / weight - excess)
        score = lasts + _largest_left(rest, totals, column, lasts)
        if best is None or score < best[0]:
            best = score, column, lasts
        if lasts == weight:
            break
        weight = lasts
    assert best is not None
    return best[1], best[2]


def _largest_left(
    rest: FloatArray,
    totals: tuple[FloatArray, FloatArray],
    column: IntArray,
    weight: float,
) -> float:
    """Return the largest line sum after a permutation of some weight."""
    rows = np.arange(len(rest))
    taken = np.minimum(rest[rows, column], weight)
    across = totals[1].copy()
    across[column] -= taken
    return max(float((totals[0] - taken).max()), float(across.max()))


_COLOURED = 8
"""Halves with so many entries a line, or fewer, are coloured, then exchanged."""
_NARROWEST = 0.08
"""Share of the entries of a half that are free to change sides at first."""


def split_by_magnitude(src: IntArray, dst: IntArray, size: FloatArray) -> Permutations:
    """Return as many permutations as the busiest line has entries.

    `src`, `dst`: lines of the entries, numbered from 0; no entry twice. Shape
    (entries,).

    Near-linear in the number of lines times the entries of the busiest one: some
    maximum flows at each of its halvings.
    """
    lines = 1 + int(max(src.max(), dst.max()))
    degrees = [np.bincount(end, minlength=lines) for end in (src, dst)]
    degree = int(max(each.max() for each in degrees))
    free = [np.repeat(np.arange(lines), degree - each) for each in degrees]
    src, dst = (np.concatenate(ends) for ends in zip((src, dst), free, strict=True))
    size = np.concatenate([size, np.zeros(len(src) - len(size))])
    column = np.zeros((degree, lines), dtype=np.int64)
    part = np.zeros((degree, lines))
    waiting = [(np.arange(len(src)), degree, 0)]
    while waiting:
        rows, count, place = waiting.pop()
        if count > _COLOURED:
            heavy = _heavy_half(src[rows], dst[rows], size[rows], lines, count // 2)
            waiting.append((rows[heavy], count // 2, place))
            waiting.append((rows[~heavy], count - count // 2, place + count // 2))
            continue
        colour = edge_colours(src[rows], dst[rows])
        column[place + colour, src[rows]] = dst[rows]
        part[place + colour, src[rows]] = size[rows]
        here = slice(place, place + count)
        better = exchanged(Permutations(column[here], part[here]), count * count)
        column[here], part[here] = better.column, better.part
    return Permutations(column, part)


def _heavy_half(
    src: IntArray, dst: IntArray, size: FloatArray, lines: int, degree: int
) -> np.ndarray:
    """Return which entries of a regular graph form its heavy half, of some degree."""
    order = np.argsort(-size, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    middle, share = lines * degree, _NARROWEST
    while True:
        width = int(share * len(order))
        heavy = rank < middle - width
        free = ~heavy & (rank < middle + width)
        if _completed(src, dst, heavy, free, lines, degree):
            return heavy
        share *= 2


def _completed(
    src: IntArray,
    dst: IntArray,
    heavy: np.ndarray,
    free: np.ndarray,
    lines: int,
    degree: int,
) -> bool:
    """Add free entries to heavy ones so that each line has `degree`, if that can be."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    lacking = [degree - np.bincount(end[heavy], minlength=lines) for end in (src, dst)]
    if min(int(each.min()) for each in lacking) < 0:
        return False
    source, sink = 2 * lines, 2 * lines + 1
    chosen = np.flatnonzero(free)
    tail, head = src[chosen], lines + dst[chosen]
    each = np.arange(lines)
    graph = csr_array(
        (
            np.concatenate([np.ones(len(chosen)), *lacking]).astype(np.int32),
            (
                np.concatenate([tail, each * 0 + source, lines + each]),
                np.concatenate([head, each, each * 0 + sink]),
            ),
        ),
        shape=(sink + 1, sink + 1),
    )
    found = maximum_flow(graph, source, sink)
    if found.flow_value < int(lacking[0].sum()):
        return False
    pair = tail * (sink + 1) + head
    order = np.argsort(pair, kind="stable")
    first = np.searchsorted(pair[order], pair[order])
    flow = np.asarray(found.flow[tail[order], head[order]]).reshape(-1)
    taken = np.arange(len(order)) - first < flow
    heavy[chosen[order[taken]]] = True
    return True


_SWEEPS = 3


def exchanged(permutations: Permutations, most_pairs: int) -> Permutations:
    """Return permutations of the same entries that last no longer together.

    `most_pairs`: most pairs of permutations that are looked at in a sweep; the pairs of
    nearest weights come first.

    Three sweeps at most; a pair takes time in proportion to the rows.
    """
    column, part = permutations.column.copy(), permutations.part.copy()
    order = np.argsort(-permutations.weight, kind="stable").tolist()
    count = len(order)
    reach = count if not count else max(1, most_pairs // count)
    for _ in range(_SWEEPS):
        gained = False
        for first, second in combinations(range(count), 2):
            if second - first > reach:
                continue
            gained |= _exchange(column, part, order[first], order[second])
        if not gained:
            break
    return Permutations(column, part)


def _exchange(column: IntArray, part: np.ndarray, first: int, second: int) -> bool:
    """Exchange cycles of two permutations in place; return whether that gains."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if part[second].max() > part[first].max():
        first, second = second, first
    before = float(part[second].max())
    if not (part[second] > part[first]).any():
        return False
    rows = np.arange(column.shape[1])
    row_of = np.empty_like(rows)
    row_of[column[second]] = rows
    following = row_of[column[first]]
    graph = csr_array(
        (np.ones(len(rows), dtype=np.int8), (rows, following)), shape=(len(rows),) * 2
    )
    cycles, cycle = connected_components(graph, directed=False)
    larger = np.zeros((2, cycles))
    for side, which in enumerate((first, second)):
        np.maximum.at(larger[side], cycle, part[which])
    swap = (larger[1] > larger[0])[cycle]
    for array in (column, part):
        kept = array[first].copy()
        array[first] = np.where(swap, array[second], kept)
        array[second] = np.where(swap, kept, array[second])
    return bool(part[second].max() < before)


_APART = 0.5
"""Small entries are no more than so much of large ones."""


def coloured_by_level(matrix: FloatArray) -> Permutations | None:
    """Return permutations of large entries, and permutations of small ones.

    The k-th largest entries of lines, by their median, fall most behind one k: what is
    above the middle of that fall is large. An entry as large as several large ones, as
    if in several permutations, is cut into so many; what it has beside them is small.
    Large entries are coloured, small ones peeled.

    Returns ``None`` where entries are of one level.
    """
    lines = np.concatenate([matrix, matrix.T])
    most = int(np.count_nonzero(lines, axis=1).max())
    by_rank = np.median(-np.sort(-lines, axis=1)[:, :most], axis=0)
    falls = by_rank[:-1] - by_rank[1:]
    if not len(falls):
        return None
    large, small = by_rank[falls.argmax() :][:2]
    if not 0 < small <= _APART * large:
        return None
    src, dst = np.nonzero(matrix)
    size = matrix[src, dst]
    times = np.where(size > (large + small) / 2, np.rint(size / large), 0)
    rest = size - times * large
    apart = np.where((times == 0) | (rest > small / 2), rest, 0.0)
    row = np.repeat(np.arange(len(size)), times.astype(np.int64))
    colour = edge_colours(src[row], dst[row])
    left = np.zeros_like(matrix)
    left[src, dst] = apart
    others = peel(left, 0)
    column, part = [others.column], [others.part]
    for one in range(int(colour.max(initial=-1)) + 1):
        held = row[colour == one]
        column.append(
            _padded_to_permutation(src[held], dst[held], len(matrix))[None, :]
        )
        moved = np.zeros((1, len(matrix)))
        moved[0, src[held]] = ((size - apart) / np.maximum(times, 1))[held]
        part.append(moved)
    return Permutations(np.concatenate(column), np.concatenate(part))


def _padded_to_permutation(src: IntArray, dst: IntArray, lines: int) -> IntArray:
    """Return a permutation of all lines that holds some pairs."""
    column = np.full(lines, -1, dtype=np.int64)
    column[src] = dst
    column[column < 0] = np.setdiff1d(np.arange(lines), dst)
    return column


def matchings_by_size(
    src: IntArray, dst: IntArray, size: FloatArray
) -> tuple[list[IntArray], FloatArray]:
    """Return matchings of nodes that hold all pairs, and how long each has to last.

    A circuit carries what its two nodes have for each other at the same time. Those
    who have most come first; each joins the first matching in which both are free. At
    most twice as many matchings as the busiest node has partners, less one.

    `src`, `dst`: nodes numbered from 0, alike at both ends; no pair twice. Shape
    (pairs,).

    Returns rows of each matching, and the largest size among them.
    """
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    _, joined = np.unique(low * (int(high.max()) + 1) + high, return_inverse=True)
    joined = joined.reshape(-1)
    largest = np.zeros(int(joined.max()) + 1)
    np.maximum.at(largest, joined, size)
    first = np.zeros(len(largest), dtype=np.int64)
    first[joined] = np.arange(len(joined))
    taken = [0] * (int(high.max()) + 1)
    matching = np.zeros(len(largest), dtype=np.int64)
    for edge in np.argsort(-largest, kind="stable").tolist():
        one, other = int(low[first[edge]]), int(high[first[edge]])
        busy = taken[one] | taken[other]
        free = ~busy & (busy + 1)
        taken[one] |= free
        taken[other] |= free
        matching[edge] = free.bit_length() - 1
    of_row = matching[joined]
    held = [np.flatnonzero(of_row == one) for one in range(int(of_row.max()) + 1)]
    return held, np.array([float(size[rows].max()) for rows in held])
