"""Minimum-congestion routes, by negotiation and edge lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.certificate import Certificate
from lightloom.core.columns import column
from lightloom.core.errors import InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.models.routing import routing_requests
from lightloom.problems import OwnAlgorithm, OwnAnswer, ProblemBounds
from lightloom.problems.least_congestion.certified_routing import (
    CertifiedRouting,
    certified_routing,
)
from lightloom.problems.least_congestion.routing_schedule import one_round_schedule
from lightloom.synth.routing.rectangle_cuts import rectangle_cut
from lightloom.validate.certificates.congestion import (
    OBJECTIVE,
    CongestionQuestion,
    lengths_witness,
)

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return the congestion of a path for each request, and its bound."""
    asked = _question(instance)
    found = _routed(asked, seed)
    detail = (f"{len(asked.src)} requests", "bound by edge lengths, checked exactly")

    def schedule() -> Schedule:
        return one_round_schedule(instance, asked.fabric, found.route, seed)

    return OwnAnswer(
        found.congestion, found.bound, detail, schedule, _by_lengths(asked, found)
    )


def bounds(instance: Instance, seed: int) -> ProblemBounds:
    """Return the best edge lengths that are found, and the best rectangle."""
    asked = _question(instance)
    if not len(asked.src):
        return ProblemBounds(asked, ())
    found = _routed(asked, seed)
    cut = rectangle_cut(asked.fabric, asked.src, asked.dst)
    nodes = {"nodes": cut.nodes.tolist()}
    by_cut = Certificate(OBJECTIVE.name, "cut", cut.bound, None, nodes)
    certificates = [*_by_lengths(asked, found), by_cut]
    certificates.sort(key=lambda certificate: (-certificate.bound, certificate.kind))
    return ProblemBounds(asked, tuple(certificates))


def _routed(asked: CongestionQuestion, seed: int) -> CertifiedRouting:
    """Return routes over the open edges, and their proof."""
    return certified_routing(
        asked.fabric, asked.src, asked.dst, capacity=asked.capacity, seed=seed
    )


def _question(instance: Instance) -> CongestionQuestion:
    fabric = instance.fabric
    if not isinstance(fabric, Lightpath):
        what, allowed = "routes are those of light paths", "lightpath"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed=allowed)
    requests = routing_requests(instance, fabric)
    src, dst = (column(pair[end] for pair in requests) for end in range(2))
    return CongestionQuestion(fabric, src, dst)


def _by_lengths(
    asked: CongestionQuestion, found: CertifiedRouting
) -> tuple[Certificate, ...]:
    """Return the bound of a routing; none where there is no request."""
    if found.witness is None:
        return ()
    witness = lengths_witness(asked.fabric, found.witness)
    name = OBJECTIVE.name
    return (Certificate(name, "edge-lengths", found.bound, None, witness),)


OWN = OwnAlgorithm("routing", "paths on the most loaded edge", solve, bounds)
