"""Figures of papers, computed: a folder a paper, found by walking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue

if TYPE_CHECKING:
    from lightloom.papers.reproduction import Figure

FOLDERS = ("lumorph", "ramp", "sipac", "sipml", "switches")

FIGURES: Catalogue[Figure] = Catalogue(
    *(f"{__name__}.{folder}" for folder in FOLDERS), attribute="FIGURE", noun="figure"
)
"""Every figure that can be computed, by name."""


def figure(name: str) -> Figure:
    """Return a figure."""
    return FIGURES.get(name)
