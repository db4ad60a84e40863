"""Wavelengths of a ring, with the gap to what no wavelengths can beat (SiP-ML, A.1).

The slowest pair's ratio is bounded by the loads of spans, by long circuits and by
nodes. The circuits that a ratio takes are split over the ways, and coloured. Where that
fails, the next lower ratio is tried, and so on: the first that works is the answer. A
gap that is left is narrowed by splits that a solver finds and by packed laps from
below, and by prices from above; of many pairs only where it is above 3 %. All of that
has limits on its work, not on its time: answers are reproducible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.certificate import Certificate, gap
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fluid_schedule import fluid_schedule
from lightloom.core.schedule import Algorithm
from lightloom.synth.circuit_ratios import least_ratio
from lightloom.synth.ring.arcs import DEFAULT_EFFORT, LitRing, ring_ways
from lightloom.synth.ring.column_generation import (
    PriceSearch,
    packed_laps,
    priced_bound,
    split_anew,
    worth_finishing,
)
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.ratio_ladder import Ladder, lit_at
from lightloom.validate.certificates.circuits_per_byte import (
    OBJECTIVE,
    ring_witness,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.load_bounds import RingBound
    from lightloom.validate.certificates.circuits_per_byte import RingWitness

ALGORITHM = "ring-ladder"
"""Name of the algorithm in schedules."""


@dataclass(frozen=True, eq=False)
class RingPlan:
    """Circuits of a ring, and how good they are.

    `circuits`: one row a way in use, sorted by (src, dst, direction). `pairs`: row of
    the demand that each circuit serves. `counts`: circuits of each pair, in the order
    of the demand. `ratio`: circuits a byte of the slowest pair; ``None`` where there is
    no pair. `bound`: no circuits have a larger one; ``None`` where none is known.
    `witness`: proof of the bound, or ``None``.
    """

    demand: Demand
    circuits: Circuits
    pairs: IntArray
    counts: IntArray
    ratio: Fraction | None
    bound: Fraction | None
    witness: RingWitness | None

    @property
    def proved(self) -> bool:
        """Whether the witness proves that the slowest pair is at its best."""
        return self.witness is not None and self.ratio == self.bound

    @property
    def gap(self) -> float | None:
        """How far the slowest pair may be from its best, 0 to 1; ``None``: unknown."""
        return gap(self.ratio, self.bound)


def ring_wavelengths(fabric: Ring, demand: Demand, *, seed: int = 0) -> RingPlan:
    """Return circuits whose slowest pair has as many circuits a byte as is found.

    Returns plan with its bound. Wavelengths that are left over are given away, the pair
    with the least circuits a byte first.

    Raises `InputError` if the demand does not fit the ring; `InfeasibleError` if no
    circuits serve all pairs, naming what is crowded; `NoAnswerError` if none are found,
    though the bound does not rule them out.
    """
    ways = ring_ways(fabric, demand)
    if not len(ways.src):
        circuits, pairs = LitRing(fabric, ways).circuits()
        return RingPlan(demand, circuits, pairs, ways.src, None, None, None)
    bound = ring_bound(fabric, ways)
    _refuse_crowd(bound)
    ladder = Ladder(ways.size_bytes, bound.counts)
    ring, depth = ladder.first(
        lambda counts: lit_at(fabric, ways, counts, seed, DEFAULT_EFFORT)
    )
    better, depth = split_anew(fabric, ways, ladder, depth, seed)
    ring = ring if better is None else better
    if worth_finishing(ladder, depth, len(ways.src)):
        search = PriceSearch(fabric, ways)
        bound, top = priced_bound(search, ladder, depth, bound)
        _refuse_crowd(bound)
        span = top, depth
        better, depth = packed_laps(
            fabric, ways, ladder, span, search=search, seed=seed
        )
        ring = ring if better is None else better
    if ring is None:
        what = "no wavelengths found that serve all pairs at once"
        raise NoAnswerError(what, where="demand")
    ring.fill()
    circuits, pairs = ring.circuits()
    ratio, _ = least_ratio(ring.counts, ways.size_bytes)
    return RingPlan(
        demand, circuits, pairs, ring.counts, ratio, bound.ratio, bound.witness
    )


def _refuse_crowd(bound: RingBound) -> None:
    """Raise where a bound says that not all pairs have a wavelength."""
    if not bound.ratio:
        raise InfeasibleError(
            "more pairs have to be served than there are wavelengths for",
            where=f"demand, {bound.witness}",
            fix="more wavelengths, or configurations that take turns:"
            " `lightloom synth --algorithm decomposition`",
        )


def ring_schedule(fabric: Ring, plan: RingPlan) -> Schedule:
    """Return the demand of a plan served at once, without footer."""
    algorithm = Algorithm(ALGORITHM)
    return fluid_schedule(fabric, plan.demand, algorithm, [plan.circuits], [plan.pairs])


def bound_certificate(witness: RingWitness) -> Certificate:
    """Return a proven bound on the ratio of the slowest pair, without value."""
    kind, told = ring_witness(witness)
    return Certificate(OBJECTIVE.name, kind, witness.ratio, None, told)


def ring_certificates(plan: RingPlan) -> tuple[Certificate, ...]:
    """Return what bounds a plan's ratio, without value; none where nothing does."""
    if plan.ratio is None or plan.witness is None:
        return ()
    return (bound_certificate(plan.witness),)
