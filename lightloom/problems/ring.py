"""The problem of wavelengths of a ring: SiP-ML paper, appendix A.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.problems.problem import (
    Formulation,
    Method,
    Problem,
    ProblemAnswer,
    asked_of,
    refuse_relays,
)
from lightloom.synth.ring.arcs import ring_ways
from lightloom.synth.ring.column_generation import MOST_PAIRS, PriceSearch, priced_bound
from lightloom.synth.ring.flow_heuristic import FLOW_HEURISTIC, control_ring
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.ratio_ladder import Ladder
from lightloom.synth.ring.wavelengths import (
    bound_certificate,
    ring_certificates,
    ring_schedule,
    ring_wavelengths,
)
from lightloom.validate.certificates.circuits_per_byte import (
    OBJECTIVE,
    WavelengthsQuestion,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Certificate
    from lightloom.instances.instance import Instance
    from lightloom.synth.ring.wavelengths import RingPlan


def question(instance: Instance) -> WavelengthsQuestion:
    """Return the ring and the demand."""
    fabric, demand = instance.fabric, instance.task
    if not isinstance(fabric, Ring) or not isinstance(demand, Demand):
        what = "wavelengths of a ring serve a demand on a fabric of kind ring"
        raise InputError(what, where=instance.name, found=asked_of(instance))
    refuse_relays(instance.name, demand)
    return WavelengthsQuestion(fabric, demand)


def solve(instance: Instance, seed: int) -> ProblemAnswer:
    """Return wavelengths a byte of the slowest pair, by levels and arc colouring."""
    asked = question(instance)
    plan = ring_wavelengths(asked.fabric, asked.demand, seed=seed)
    return _answered(asked, plan)


def by_flows(instance: Instance, seed: int) -> ProblemAnswer:
    """Return what the paper's fast scheduler gives (A.1, steps 1 to 4), repaired.

    Raises `InputError` if the instance is of another problem; `InfeasibleError` if a
    pair is out of reach; `NoAnswerError` if no wavelengths are found that serve all
    pairs.
    """
    asked = question(instance)
    plan = control_ring(asked.fabric, asked.demand, seed=seed)
    found = bounds(asked, seed)
    if plan.ratio is None or not found:
        return _answered(asked, plan)
    schedule = ring_schedule(asked.fabric, plan)
    best = found[0]
    return ProblemAnswer(
        plan.ratio, best.bound, (f"bound by {best.kind}",), lambda: schedule, (best,)
    )


def _answered(asked: WavelengthsQuestion, plan: RingPlan) -> ProblemAnswer:
    """Return a plan as an answer."""
    schedule = ring_schedule(asked.fabric, plan)
    if plan.ratio is None:
        return ProblemAnswer(0, 0, ("nothing to serve",), lambda: schedule, ())
    return ProblemAnswer(
        plan.ratio,
        plan.bound,
        (f"bound by {plan.witness}",),
        lambda: schedule,
        ring_certificates(plan),
    )


def bounds(asked: WavelengthsQuestion, seed: int) -> tuple[Certificate, ...]:
    """Return prices where they prove most; the most crowded spans, circuits or node."""
    del seed
    fabric, ways = asked.fabric, ring_ways(asked.fabric, asked.demand)
    if not len(ways.src):
        return ()
    lines = ring_bound(fabric, ways)
    found = [lines]
    if lines.ratio and len(ways.src) <= MOST_PAIRS:
        search = PriceSearch(fabric, ways)
        ladder = Ladder(ways.size_bytes, lines.counts)
        best, _ = priced_bound(search, ladder, ladder.levels, lines)
        found = [best, lines] if best is not lines else found
    return tuple(bound_certificate(bound.witness) for bound in found)


def _formulation() -> Formulation:
    from lightloom.models import ring

    return Formulation(
        ring.build, ring.decode, ring.objective, ring.size, ring.schedule
    )


PROBLEM = Problem(
    name="ring",
    summary="wavelengths of a ring, slowest pair fastest (SiP-ML, A.1)",
    sense="maximise",
    unit="wavelengths per byte of the slowest pair",
    fabric=Ring,
    tasks=(Demand,),
    question=question,
    solve=solve,
    bounds=bounds,
    formulation=_formulation,
    variants=(
        ("statement", "`levels`: integers only, exact; or `ratio`, as printed"),
        ("pinned", "pin the order of the wavelengths"),
    ),
    methods={
        FLOW_HEURISTIC: Method("flows, rounding, repair (A.1, steps 1-4)", by_flows)
    },
    schedule_objective=OBJECTIVE.name,
)
