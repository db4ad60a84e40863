"""Fabrics by kind: one file each, found by walking this folder."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Protocol

from lightloom.core.catalogue import walk
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.fabric import CircuitFabric, PacketFabric

__all__ = ["FabricKind", "catalogue", "load_fabric"]


class FabricKind(Protocol):
    """Makes fabrics of one kind; each module here offers one as ``FABRIC``."""

    @property
    def name(self) -> str:
        """The kind, as in ``[fabric] kind``."""

    def load(
        self, table: Mapping[str, object], where: str
    ) -> CircuitFabric | PacketFabric:
        """Return the fabric of an instance table, defaults filled in."""


@functools.cache
def catalogue() -> dict[str, FabricKind]:
    """Return every kind of fabric, by name."""
    return walk(__name__, "FABRIC", FabricKind)


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
    return kinds[kind].load(table, where)
