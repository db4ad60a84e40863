"""Circuits of a ring, fast enough to be set many times in an iteration.

Where all exchange with all, by laps: arcs that follow one another once round a ring, a
*lap*, share a wavelength. With fibres both ways and m places, m divisible by 4, every
span is full with m^2 / 8 laps a direction, the least there can be: arcs of d, m/2 - d,
d, m/2 - d spans from a, for a = 0 .. m/2 - 1 and d = 1 .. m/4 - 1; four arcs of m/4
spans from a, for a = 0 .. m/4 - 1; and two diameters from a, for even a below m/2 one
way round and for odd a the other. For other m the arcs of the shorter ways are coloured
by a search. With one fibre the arcs of a pair and back are a lap.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.lightpath.wavelength_allocation import divide_lasers
from lightloom.synth.ring.arcs import LitRing, arc_colours, ring_ways, span_loads
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.ratio_ladder import Ladder, lit_at

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays
    from lightloom.synth.ring.load_bounds import RingBound


_EFFORT = 300


def quick_ring_circuits(fabric: Ring, demand: Demand, *, seed: int = 0) -> Circuits:
    """Return circuits with the highest ratio that one colouring a level reaches.

    The levels of `lightloom.synth.ring.wavelengths`, from its certified bound down,
    without what it does beyond to close the last gap.

    Raises `InfeasibleError`: a pair is out of reach, or more pairs have to be served
    than there is light for; `NoAnswerError`: no wavelengths were found.
    """
    ways = ring_ways(fabric, demand)
    if not len(ways.src):
        return LitRing(fabric, ways).circuits()[0]
    bound = _bound(fabric, ways)
    ladder = Ladder(ways.size_bytes, bound.counts)
    ring, _ = ladder.first(lambda counts: lit_at(fabric, ways, counts, seed, _EFFORT))
    if ring is None:
        what = "no wavelengths found that serve all pairs at once"
        raise NoAnswerError(what, where="demand", fix="more wavelengths")
    ring.fill()
    return ring.circuits()[0]


def faster_ring_circuits(fabric: Ring, demand: Demand, *, seed: int = 0) -> Circuits:
    """Return the better of `quick_ring_circuits` and circuits by laps.

    Laps are the better ones where all exchange with all.

    `demand`: bytes of each pair, each pair once.

    Raises `InfeasibleError, NoAnswerError`: as `quick_ring_circuits`, where there are
    too many laps as well.
    """
    by_laps = exchange_circuits(fabric, demand)
    try:
        found = quick_ring_circuits(fabric, demand, seed=seed)
    except (InfeasibleError, NoAnswerError):
        if by_laps is None:
            raise
        return by_laps
    if by_laps is None or _least(by_laps, demand) <= _least(found, demand):
        return found
    return by_laps


def _least(circuits: Circuits, demand: Demand) -> Fraction:
    """Return the least wavelengths a byte that a pair of a demand has."""
    lit: dict[tuple[int, int], int] = {}
    ends = zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
    lengths = circuits.lists("wavelengths").lengths.tolist()
    for pair, length in zip(ends, lengths, strict=True):
        lit[pair] = lit.get(pair, 0) + length
    rows = zip(demand.src, demand.dst, demand.bytes, strict=True)
    return min(Fraction(lit.get((src, dst), 0), size) for src, dst, size in rows)


def bounded_ring_circuits(fabric: Ring, demand: Demand) -> Circuits:
    """Return as many circuits of each pair as the bound allows, on no wavelengths.

    For estimates: their numbers, and so their rates, mean something; the wavelengths,
    all 0, do not.

    Raises `InfeasibleError`: a pair is out of reach, or more pairs have to be served
    than there is light for.
    """
    ways = ring_ways(fabric, demand)
    counts = _bound(fabric, ways).counts if len(ways.src) else ways.src
    nothing = np.zeros(int(counts.sum()), dtype=np.int64)
    return Circuits(
        ways.src,
        ways.dst,
        Ragged.from_lengths(counts, nothing),
        direction=ways.direction[ways.first],
    )


def _bound(fabric: Ring, ways: RingWays) -> RingBound:
    """Return the bound on the slowest pair, or raise if it is nothing."""
    bound = ring_bound(fabric, ways)
    if not bound.ratio:
        raise InfeasibleError(
            "more pairs have to be served than there are wavelengths for",
            where=f"demand, {bound.witness}",
            fix="more wavelengths, or fewer devices that share the model",
        )
    return bound


_MOST_PLACES = 128
_MOST_SEARCHED = 32
_LAPS_EFFORT = 2_000
_MORE_COLOURS = 3


def lap_numbers(fabric: Ring, src: IntArray, dst: IntArray) -> IntArray | None:
    """Return the number of the wavelength that each pair shares with others of a lap.

    Returns numbers from 0 without a gap, shape (pairs,): pairs of one number can be lit
    at once on one wavelength. ``None`` where no such numbers are known.
    """
    found = _laps(fabric, src, dst)
    return None if found is None else found[0]


def exchange_circuits(fabric: Ring, demand: Demand) -> Circuits | None:
    """Return circuits by laps, wavelengths divided among them by what they carry.

    `demand`: bytes of each pair; any, but laps are meant for exchanges of all with all.

    Returns ``None`` where no laps are known, light does not reach, or they are too
    many.
    """
    src, dst, size_bytes = (
        np.array(column, dtype=np.int64)
        for column in (demand.src, demand.dst, demand.bytes)
    )
    found = _laps(fabric, src, dst)
    if found is None:
        return None
    lap, direction = found
    laps = int(lap.max()) + 1
    most = np.zeros(laps, dtype=np.int64)
    np.maximum.at(most, lap, size_bytes)
    rounds = ((1, tuple(most.tolist())),)
    dealt = divide_lasers((1,) * laps, rounds, fabric.wavelengths)
    if dealt is None:
        return None
    each = np.array(dealt, dtype=np.int64)
    count, first = each[lap], (np.cumsum(each) - each)[lap]
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    colour = Ragged.from_lengths(count, np.repeat(first, count) + within)
    return Circuits(src, dst, colour, direction=direction)


def _laps(
    fabric: Ring, src: IntArray, dst: IntArray
) -> tuple[IntArray, IntArray] | None:
    """Return the number of the lap of each pair, without a gap, and its direction."""
    places, where = np.unique(np.concatenate([src, dst]), return_inverse=True)
    if not 2 <= len(places) <= _MOST_PLACES:
        return None
    tables = _exchange(
        len(places),
        fabric.directions,
        shared=fabric.transceivers < fabric.directions,
    )
    if tables is None:
        return None
    one, other = where[: len(src)], where[len(src) :]
    lap, direction = (table[one, other] for table in tables)
    if (fabric.hops(src, dst, direction) > fabric.reach).any():
        return None
    _, number = np.unique(lap, return_inverse=True)
    return number.reshape(-1), direction


@lru_cache(maxsize=32)
def _exchange(
    places: int, directions: int, *, shared: bool
) -> tuple[IntArray, IntArray] | None:
    """Return lap and direction of each pair of places, shape (places, places).

    `shared` where a wavelength leaves a place in one direction only: then the laps of
    the two directions have numbers of their own.
    """
    start, further = (
        one.reshape(-1)
        for one in np.meshgrid(np.arange(places), np.arange(1, places), indexing="ij")
    )
    end = (start + further) % places
    if directions == 1:
        low, high = np.minimum(start, end), np.maximum(start, end)
        lap, direction = low * places + high, np.zeros_like(start)
    else:
        # A diameter goes forth from even places of each half, and back from odd ones.
        odd = start % (places // 2 if places % 4 == 0 else places) % 2
        back = (2 * further > places) | ((2 * further == places) & (odd == 1))
        direction = back.astype(np.int64)
        # Seen in a mirror, light runs forth.
        begin = np.where(back, (-start) % places, start)
        hops = np.where(back, places - further, further)
        found = _forth(places, begin, hops, direction)
        if found is None:
            return None
        lap = np.zeros_like(found)
        for way in (0, 1):
            mine = direction == way
            lap[mine] = np.unique(found[mine], return_inverse=True)[1]
        if shared:
            lap += direction * (int(lap.max()) + 1)
    tables = np.zeros((2, places, places), dtype=np.int64)
    tables[:, start, end] = lap, direction
    return tables[0], tables[1]


def _forth(
    places: int, begin: IntArray, hops: IntArray, direction: IntArray
) -> IntArray | None:
    """Return the lap of each arc, of either fibre, from 0 on each."""
    if places % 4 == 0:
        half, quarter = places // 2, places // 4
        # An arc of more than a quarter follows the one that completes its half.
        late = (hops > quarter) & (hops < half)
        short = np.where(late, half - hops, hops)
        first = np.where(late, begin - short, begin)
        first %= np.where(hops == quarter, quarter, half)
        return short * half + first
    if places > _MOST_SEARCHED:
        return None
    lap = np.zeros(len(begin), dtype=np.int64)
    for way in (0, 1):
        mine = np.flatnonzero(direction == way)
        if not len(mine):
            continue
        least = int(span_loads(begin[mine], hops[mine], places).max())
        for colours in range(least, least + _MORE_COLOURS + 1):
            found = arc_colours(
                begin[mine], hops[mine], places, colours, effort=_LAPS_EFFORT
            )
            if found is not None:
                break
        else:
            return None
        lap[mine] = found
    return lap


def lap_parts(fabric: Ring | Ring2d, src: IntArray, dst: IntArray) -> IntArray | None:
    """Return for each row which of the fewest parts by laps it is in.

    `src`, `dst`: nodes of a ring, or of one row or column; pairs may come several
    times, shape (rows,).

    Returns numbers from 0, such that on no ring the pairs of a part belong to more laps
    than it has wavelengths, shape (rows,). ``None`` where that is all of them, or where
    no laps are known.
    """
    rings = fabric.rings if isinstance(fabric, Ring2d) else (fabric,)
    axis, line, one, other = np.zeros_like(src), np.zeros_like(src), src, dst
    if isinstance(fabric, Ring2d):
        axis = np.where(fabric.line(src, 0) == fabric.line(dst, 0), 0, 1)
        line = np.where(axis == 0, fabric.line(src, 0), fabric.line(src, 1))
        one, other = (
            np.where(axis == 0, fabric.line(ends, 1), fabric.line(ends, 0))
            for ends in (src, dst)
        )
    lap, laps, parts = np.zeros_like(src), np.ones_like(src), 1
    for which, ring in enumerate(rings):
        for number in np.unique(line[axis == which]).tolist():
            rows = np.flatnonzero((axis == which) & (line == number))
            pair, of = np.unique(
                np.stack([one[rows], other[rows]]), axis=1, return_inverse=True
            )
            found = lap_numbers(ring, pair[0], pair[1])
            if found is None:
                return None
            count = int(found.max()) + 1
            lap[rows], laps[rows] = found[of.reshape(-1)], count
            parts = max(parts, -(-count // ring.wavelengths))
    part: IntArray = lap * parts // laps
    return part if parts > 1 else None
