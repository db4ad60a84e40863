"""Requests: the pairs of tiles between which routes are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import InputError
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import op_of
from lightloom.models.deliveries import copy_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.instances.instance import Instance
    from lightloom.models.candidate_routes import Pair

Requests: TypeAlias = "Sequence[Pair]"


def routing_requests(
    instance: Instance, fabric: Lightpath, given: Requests | None = None
) -> tuple[Pair, ...]:
    """Return the pairs to route, in order: those given, or those of the instance.

    `given`: (source, destination) pairs instead, repeats counting each.

    Raises `InputError` if a pair is none of two tiles, or the instance has no pairs of
    its own.
    """
    if given is None and instance.requests is not None:
        given = list(instance.requests)
    elif given is None and isinstance(instance.task, Demand):
        given = list(zip(instance.task.src, instance.task.dst, strict=True))
    elif given is None:
        reduces = isinstance(instance.task, Collective) and op_of(instance.task).reduces
        deliveries = None if reduces else copy_question(instance)[1]
        if deliveries is None or not deliveries.one_hop:
            what = "what such a collective routes depends on its algorithm"
            fix = (
                "--set collective.op=all-to-all, scatter or gather; or give a [demand]"
            )
            raise InputError(what, where="collective.op", fix=fix)
        given = [
            (deliveries.holders[chunk][0], nodes[0])
            for chunk, nodes in deliveries.lacking.items()
        ]
    for row, pair in enumerate(given):
        if pair[0] == pair[1] or not all(0 <= end < fabric.node_count for end in pair):
            what = "not two different tiles of the grid"
            raise InputError(what, where=f"requests, row {row}", found=pair)
    return tuple(given)
