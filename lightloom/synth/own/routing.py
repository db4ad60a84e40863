"""Minimum-congestion routes, by negotiation and edge lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.columns import column
from lightloom.core.errors import InputError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.models.routing import routing_requests
from lightloom.synth.own import OwnAlgorithm, OwnAnswer
from lightloom.synth.routing.certified import certified_routing

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def solve(instance: Instance, seed: int) -> OwnAnswer:
    """Return the congestion of a path for each request, and its bound."""
    fabric = instance.fabric
    if not isinstance(fabric, Lightpath):
        what, allowed = "routes are those of light paths", "lightpath"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed=allowed)
    requests = routing_requests(instance, fabric)
    src = column(pair[0] for pair in requests)
    dst = column(pair[1] for pair in requests)
    found = certified_routing(fabric, src, dst, seed=seed)
    detail = (f"{len(requests)} requests", "bound by edge lengths, checked exactly")
    return OwnAnswer(found.congestion, found.bound, detail, None)


OWN = OwnAlgorithm("routing", "paths on the most loaded edge", solve)
