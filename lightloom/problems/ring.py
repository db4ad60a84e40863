"""Wavelengths of a ring, by levels and arc colouring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.problems import OwnAlgorithm, OwnAnswer, ProblemBounds, asked_of
from lightloom.synth.ring.arcs import ring_ways
from lightloom.synth.ring.column_generation import PriceSearch
from lightloom.synth.ring.gap_closing import MOST_PAIRS, priced_bound
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.ratio_ladder import Ladder
from lightloom.synth.ring.wavelengths import (
    bound_certificate,
    ring_certificates,
    ring_schedule,
    ring_wavelengths,
)
from lightloom.validate.certificates.circuits_per_byte import (
    WavelengthsQuestion,
)

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return the wavelengths a byte of the slowest pair, with its bound."""
    fabric, demand = _question(instance)
    plan = ring_wavelengths(fabric, demand, seed=seed)
    schedule = ring_schedule(fabric, plan)
    if plan.ratio is None:
        return OwnAnswer(0, 0, ("nothing to serve",), lambda: schedule)
    detail = (f"bound by {plan.witness}",)
    return OwnAnswer(
        plan.ratio, plan.bound, detail, lambda: schedule, ring_certificates(plan)
    )


def bounds(instance: Instance, seed: int) -> ProblemBounds:
    """Return prices where they prove most; the most crowded spans, circuits or node."""
    del seed
    fabric, demand = _question(instance)
    ways = ring_ways(fabric, demand)
    question = WavelengthsQuestion(fabric, demand)
    if not len(ways.src):
        return ProblemBounds(question, ())
    lines = ring_bound(fabric, ways)
    found = [lines]
    if lines.ratio and len(ways.src) <= MOST_PAIRS:
        search = PriceSearch(fabric, ways)
        ladder = Ladder(ways.size_bytes, lines.counts)
        best, _ = priced_bound(search, ladder, ladder.levels, lines)
        found = [best, lines] if best is not lines else found
    certificates = tuple(bound_certificate(bound.witness) for bound in found)
    return ProblemBounds(question, certificates)


def _question(instance: Instance) -> tuple[Ring, Demand]:
    fabric, demand = instance.fabric, instance.task
    if not isinstance(fabric, Ring) or not isinstance(demand, Demand):
        what = "wavelengths of a ring serve a demand on a fabric of kind ring"
        raise InputError(what, where=instance.name, found=asked_of(instance))
    return fabric, demand


OWN = OwnAlgorithm(
    "ring", "wavelengths per byte of the slowest pair", solve, bounds, largest=True
)
