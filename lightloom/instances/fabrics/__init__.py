"""Fabrics by kind: one file each, found by walking this folder."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import walk
from lightloom.core.errors import InputError, nearest
from lightloom.formats.record_conversion import convert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.fabric import CircuitFabric, PacketFabric

__all__ = ["FabricKind", "catalogue", "load_fabric"]


@dataclass(frozen=True)
class FabricKind:
    """One kind of fabric; each module here offers one as ``FABRIC``.

    Attributes
    ----------
    name
        The kind, as in ``[fabric] kind``.
    record
        A ``msgspec.Struct`` that satisfies `CircuitFabric` or `PacketFabric` and
        whose fields are the keys of the instance table.
    """

    name: str
    record: type[CircuitFabric | PacketFabric]


@functools.cache
def catalogue() -> dict[str, FabricKind]:
    """Return every kind of fabric, by name."""
    return walk(__name__, "FABRIC")


def load_fabric(
    table: Mapping[str, object], where: str = "fabric"
) -> CircuitFabric | PacketFabric:
    """Return the fabric that an instance table describes.

    Raises
    ------
    InputError
        Missing or unknown kind, unknown key, value out of its domain.
    """
    kinds = catalogue()
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        what = "missing kind of fabric" if kind is None else "unknown kind of fabric"
        raise InputError(
            what,
            where=f"{where}.kind",
            found=kind,
            allowed=", ".join(kinds),
            fix=nearest(str(kind), kinds),
        )
    fabric: CircuitFabric | PacketFabric = convert(
        dict(table), kinds[kind].record, where=where
    )
    return fabric
