"""Fabrics by kind: one file each, found by walking this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.record import convert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.fabric import CircuitFabric, PacketFabric


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


FABRICS: Catalogue[FabricKind] = Catalogue(
    __name__, attribute="FABRIC", noun="kind of fabric", group="lightloom.fabrics"
)
"""Every kind of fabric, by name."""


def load_fabric(
    table: Mapping[str, object], where: str = "fabric"
) -> CircuitFabric | PacketFabric:
    """Return the fabric that an instance table describes.

    Parameters
    ----------
    table
        Keys and values of ``[fabric]``; ``kind`` says which others there are.
    where
        What a message calls the place of the table.

    Raises
    ------
    InputError
        Missing or unknown kind, unknown key, value out of its domain.
    """
    kind = FABRICS.get(table.get("kind"), f"{where}.kind")
    fabric: CircuitFabric | PacketFabric = convert(
        dict(table), kind.record, where=where
    )
    return fabric
