"""Collectives of the catalogue, by fabric, operation and size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.bench.families import Family
from lightloom.instances.catalogue import load_instance

if TYPE_CHECKING:
    from lightloom.instances.instance import Instance


def make(fabric: str, op: str, size: str) -> Instance:
    """Return the instance ``FABRIC/OP-SIZE``.

    Parameters
    ----------
    fabric, op, size
        Parts of a name that `lightloom instances` lists.
    """
    return load_instance(f"{fabric}/{op}-{size}")


FAMILY = Family("catalogue", "a collective that `lightloom instances` lists", make)
