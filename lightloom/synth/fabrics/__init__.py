"""The catalogue of fabric plugs, one file for each kind of fabric.

A module of this folder offers a `FabricPlug` as ``PLUG``, or a tuple of them: how
schedules are made on one kind of fabric, which circuits are kept for a training on it,
and where replicas stand. All kinds without circuits share the plug ``packet`` unless
they have one of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError
from lightloom.core.fabric import PacketFabric
from lightloom.routing import ROUTERS, require_router

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.fabrics.plug import FabricPlug
    from lightloom.synth.fabrics.realiser import Realiser

PACKET = "packet"
"""Name of the plug of all fabrics without circuits."""

PLUGS: Catalogue[FabricPlug[Any]] = Catalogue(
    __name__, attribute="PLUG", noun="plug of a fabric", group="lightloom.plugs"
)
"""Plugs by kind of fabric."""


def plug_of(fabric: AnyFabric) -> FabricPlug[Any]:
    """Return the plug of a fabric.

    Raises `InputError`: a kind with circuits for which there is no plug.
    """
    if fabric.kind in PLUGS:
        return PLUGS.get(fabric.kind)
    if isinstance(fabric, PacketFabric):
        return PLUGS.get(PACKET)
    circuits = ", ".join(sorted({*PLUGS} - {PACKET}))
    raise InputError(
        "no schedules are made for this kind of fabric",
        where="fabric.kind",
        found=fabric.kind,
        allowed=f"{circuits}, or a kind without circuits",
        fix="see docs/how-to/add-a-fabric.md; schedules from elsewhere can be verified"
        " and replayed",
    )


def realiser_of(
    fabric: AnyFabric, seed: int = 0, router: str = ROUTERS[0]
) -> Realiser[Any]:
    """Return what puts the rounds of algorithms on a fabric.

    `seed`: of everything random, 0 or more.

    Raises `InputError`: an unknown router, or a kind on which no algorithm of the
    catalogue runs.
    """
    require_router(router)
    plug = plug_of(fabric)
    if plug.realiser is None:
        what = "no algorithm of the catalogue runs on this kind of fabric"
        raise InputError(what, where="fabric.kind", found=fabric.kind)
    return plug.realiser(fabric, seed, router)
