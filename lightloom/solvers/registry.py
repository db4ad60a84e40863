"""The catalogue of solvers: one file each, found by walking this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Adapter

SOLVERS: Catalogue[Adapter] = Catalogue(
    "lightloom.solvers", attribute="ADAPTER", noun="solver", group="lightloom.solvers"
)
"""Every solver, installed or not, by name. Imports no solver."""
