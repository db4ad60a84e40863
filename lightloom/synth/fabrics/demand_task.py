"""The demand of an instance, for fabrics with algorithms of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError, nearest
from lightloom.core.task import Collective
from lightloom.synth.auto import AUTO
from lightloom.synth.demand_rounds import RELAYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance


def demand_of(
    instance: Instance,
    algorithm: str,
    parameters: Mapping[str, object],
    *,
    known: Sequence[str],
) -> Demand:
    """Return the demand of an instance, if an algorithm of its fabric is meant.

    Raises `InputError`: another algorithm, or parameters.
    """
    task, kind = instance.communication, instance.fabric.kind
    assert not isinstance(task, Collective)
    if algorithm not in (AUTO, *known):
        raise InputError(
            f"unknown algorithm for a demand on the fabric {kind!r}",
            where="algorithm",
            found=algorithm,
            allowed=", ".join([AUTO, *known, RELAYS]),
            fix=nearest(algorithm, [*known, RELAYS]),
        )
    if parameters:
        what = "algorithms for demands take no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    return task
