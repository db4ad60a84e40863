"""Synthesisers of fabrics that have their own ways: one file each, found by walking.

Where the light paths of a fabric follow from its algorithm, there is nothing to weave:
a module of this folder makes whole schedules for one kind of fabric and offers that as
``SYNTHESISER``.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance

__all__ = ["FabricSynthesiser", "catalogue"]


@dataclass(frozen=True)
class FabricSynthesiser:
    """How schedules are made for one kind of fabric.

    Attributes
    ----------
    name
        The kind, as in ``[fabric] kind``.
    schedules
        ``schedules(instance, algorithm, parameters, seed)`` yields schedules without
        footer, of which the fastest is taken. `algorithm` is ``auto`` or a name of the
        synthesiser's own; it raises `InputError` on any other, on unknown parameters,
        and on a task that it cannot do. Deterministic.
    """

    name: str
    schedules: Callable[[Instance, str, Mapping[str, object], int], Iterator[Schedule]]


@functools.cache
def catalogue() -> dict[str, FabricSynthesiser]:
    """Return the fabrics that have a synthesiser of their own, by kind."""
    return walk(__name__, "SYNTHESISER")
