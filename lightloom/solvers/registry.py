"""The catalogue of solvers: one file each, found by walking this folder."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lightloom.core.catalogue import walk

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Adapter


@functools.cache
def catalogue() -> dict[str, Adapter]:
    """Return every solver, installed or not, by name. Imports no solver."""
    return walk("lightloom.solvers", "ADAPTER")
