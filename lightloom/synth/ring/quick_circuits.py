"""Circuits of a ring, fast enough to be set many times in an iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.synth.ring.arcs import ring_ways
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.ratio_ladder import Ladder, lit_at
from lightloom.synth.ring.wavelength_occupancy import LitRing

if TYPE_CHECKING:
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays
    from lightloom.synth.ring.load_bounds import RingBound

__all__ = ["bounded_ring_circuits", "quick_ring_circuits"]

_EFFORT = 300


def quick_ring_circuits(
    fabric: Ring, demand: Demand, *, seed: int = 0, effort: int = _EFFORT
) -> Circuits:
    """Return circuits with the highest ratio that one colouring a level reaches.

    The levels of `lightloom.synth.ring.wavelengths`, from its certified bound down,
    without what it does beyond to close the last gap.

    Parameters
    ----------
    fabric
        The ring.
    demand
        Bytes of each pair.
    seed
        Seed of colourings.
    effort
        Of each colouring, see `lightloom.synth.ring.arc_colouring`.

    Raises
    ------
    InfeasibleError
        A pair is out of reach, or more pairs have to be served than there is light for.
    NoAnswerError
        No wavelengths were found.
    """
    ways = ring_ways(fabric, demand)
    if not len(ways.src):
        return LitRing(fabric, ways).circuits()[0]
    bound = _bound(fabric, ways)
    ladder = Ladder(ways.size_bytes, bound.counts)
    ring, _ = ladder.first(lambda counts: lit_at(fabric, ways, counts, seed, effort))
    if ring is None:
        what = "no wavelengths found that serve all pairs at once"
        raise NoAnswerError(what, where="demand", fix="more wavelengths")
    ring.fill()
    return ring.circuits()[0]


def bounded_ring_circuits(fabric: Ring, demand: Demand) -> Circuits:
    """Return as many circuits of each pair as the bound allows, on no wavelengths.

    For estimates: their numbers, and so their rates, mean something; the wavelengths,
    all 0, do not.

    Parameters
    ----------
    fabric
        The ring.
    demand
        Bytes of each pair.

    Raises
    ------
    InfeasibleError
        A pair is out of reach, or more pairs have to be served than there is light for.
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
