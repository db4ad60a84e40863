"""The problem of routes of least congestion: LUMORPH paper, Algorithm 2."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.certificate import Certificate
from lightloom.core.columns import column
from lightloom.core.errors import InputError, NoAnswerError
from lightloom.core.fluid_schedule import fluid_schedule
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.models.deliveries import copy_question
from lightloom.models.rounds import copies
from lightloom.models.routing import routing_requests
from lightloom.problems.problem import (
    Formulation,
    Problem,
    ProblemAnswer,
    WrongAnswerError,
)
from lightloom.routing.minimum_congestion import Routing, certified_routing
from lightloom.routing.rectangle_cuts import rectangle_cut
from lightloom.routing.wavelength_assignment import lit_routes
from lightloom.validate.certificates.congestion import (
    OBJECTIVE,
    CongestionQuestion,
    congestion_of,
    lengths_witness,
)

if TYPE_CHECKING:
    from lightloom.core.columns import Ragged
    from lightloom.instances.instance import Instance
    from lightloom.models.routing import RoutingAnswer


def question(instance: Instance) -> CongestionQuestion:
    """Return the grid and the ends of the requests."""
    fabric = instance.fabric
    if not isinstance(fabric, Lightpath):
        what, allowed = "routes are those of light paths", "lightpath"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed=allowed)
    requests = routing_requests(instance, fabric)
    src, dst = (column(pair[end] for pair in requests) for end in range(2))
    return CongestionQuestion(fabric, src, dst)


def solve(instance: Instance, seed: int) -> ProblemAnswer:
    """Return a path for each request, by negotiation, and edge lengths as the bound."""
    asked = question(instance)
    found = _routed(asked, seed)
    return ProblemAnswer(
        found.congestion,
        found.bound,
        (f"{len(asked.src)} requests", "bound by edge lengths, checked exactly"),
        lambda: one_round_schedule(instance, asked.fabric, found.route, seed),
        _by_lengths(asked, found),
        found,
    )


def bounds(asked: CongestionQuestion, seed: int) -> tuple[Certificate, ...]:
    """Return the best edge lengths that are found, and the best rectangle."""
    if not len(asked.src):
        return ()
    found = _routed(asked, seed)
    cut = rectangle_cut(asked.fabric, asked.src, asked.dst)
    nodes = {"nodes": cut.nodes.tolist()}
    by_cut = Certificate(OBJECTIVE.name, "cut", cut.bound, None, nodes)
    by_lengths = _by_lengths(asked, found)
    return (by_cut, *by_lengths) if cut.bound >= found.bound else (*by_lengths, by_cut)


def measure(instance: Instance, found: Routing | RoutingAnswer) -> int:
    """Return the congestion of routes that join the ends of all requests.

    Raises `WrongAnswerError` if it breaks a rule; the message names the first.
    """
    asked = question(instance)
    if not _serves(asked, found.route):
        message = "routes end where none was asked"
        raise WrongAnswerError(message)
    try:
        congestion, _ = congestion_of(asked.fabric, found.route)
    except InputError as problem:
        raise WrongAnswerError(str(problem)) from None
    return congestion


def _serves(asked: CongestionQuestion, route: Ragged) -> bool:
    """Return whether routes join the ends of all requests, in their order."""
    values, first = route.values, route.offsets
    if len(first) != len(asked.src) + 1 or not route.lengths.all():
        return False
    return np.array_equal(values[first[:-1]], asked.src) and np.array_equal(
        values[first[1:] - 1], asked.dst
    )


def _routed(asked: CongestionQuestion, seed: int) -> Routing:
    """Return routes over the open edges, and their proof."""
    return certified_routing(
        asked.fabric, asked.src, asked.dst, capacity=asked.capacity, seed=seed
    )


def _by_lengths(asked: CongestionQuestion, found: Routing) -> tuple[Certificate, ...]:
    """Return the bound of a routing; none where there is no request."""
    if found.witness is None:
        return ()
    witness = lengths_witness(asked.fabric, found.witness)
    return (Certificate(OBJECTIVE.name, "edge-lengths", found.bound, None, witness),)


def _exact_schedule(instance: Instance, answer: RoutingAnswer) -> Schedule:
    """Return the schedule that holds a solver's routes at once."""
    asked = question(instance)
    if not _serves(asked, answer.route):
        what = "the routes are not those of the instance's own requests"
        raise NoAnswerError(what, where="requests")
    schedule = one_round_schedule(instance, asked.fabric, answer.route, seed=0)
    return replace(schedule, algorithm=Algorithm("exact"))


def _formulation() -> Formulation:
    from lightloom.models import routing

    return Formulation(
        routing.build,
        routing.decode,
        routing.objective,
        routing.size,
        _exact_schedule,
    )


PROBLEM = Problem(
    name="routing",
    summary="routes that share the most loaded edge least (LUMORPH, Algorithm 2)",
    sense="minimise",
    unit="paths on the most loaded edge",
    fabric=Lightpath,
    tasks=(Collective, Demand),
    ops=("all-to-all", "gather", "scatter"),
    question=question,
    solve=solve,
    bounds=bounds,
    formulation=_formulation,
    variants=(
        ("form", "`arcs`, or `paths` for candidate routes only"),
        ("paths", "candidate routes a pair, or how many to find"),
        ("requests", "(source, destination) pairs instead of the instance's"),
        ("capacity", "of each directed edge instead of 1"),
        ("relaxed", "drop integrality, for a lower bound"),
        ("degrees", "state the redundant (11) and (12)"),
        ("tie_break", "fewest hops among the least congestions"),
    ),
    schedule_objective=OBJECTIVE.name,
    measure=measure,
)


NAME = "certified-routing"


def one_round_schedule(
    instance: Instance, fabric: Lightpath, route: Ragged, seed: int
) -> Schedule:
    """Return the schedule that holds all routes of a routing at once, without footer.

    `route`: tiles of the route of each request, in the order of
    `lightloom.models.routing.routing_requests`; one circuit each.

    Raises `NoAnswerError` if the routes cannot be lit at once, or no wavelengths for
    them are found.
    """
    circuits = lit_routes(fabric, route, seed)
    algorithm = Algorithm(NAME, {}, seed)
    if isinstance(instance.task, Demand):
        rows = {
            pair: row
            for row, pair in enumerate(
                zip(instance.task.src, instance.task.dst, strict=True)
            )
        }
        ends = zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
        pairs = column(rows[pair] for pair in ends)
        return fluid_schedule(fabric, instance.task, algorithm, [circuits], [pairs])
    _, deliveries = copy_question(instance)
    moved = copies(
        (deliveries.holders[chunk][0], nodes[0], chunk)
        for chunk, nodes in deliveries.lacking.items()
    )
    segments = (Segment(0, 0, circuits),) if len(circuits) else ()
    parts = (StepPart(0, 0, 0, moved),) if len(circuits) else ()
    return Schedule(fabric.table(), deliveries.collective, algorithm, segments, parts)
