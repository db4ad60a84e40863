"""Circuits of a ring, fast enough to be set many times in an iteration."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.synth.ring.arcs import LitRing, ring_ways
from lightloom.synth.ring.exchange_laps import exchange_circuits
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.ratio_ladder import Ladder, lit_at

if TYPE_CHECKING:
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

    Laps (`lightloom.synth.ring.exchange_laps`) are the better ones where all exchange
    with all.

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
