"""Figures of papers, computed: a folder a paper, found by walking."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lightloom.core.catalogue import Catalogue

if TYPE_CHECKING:
    from lightloom.papers.reproduction import Figure

PAPERS = {
    "bruck": "Bruck on shift rings",
    "decomposition": "parallel switches with delay",
    "lumorph": "LUMORPH",
    "overlap": "overlapped reconfiguration",
    "ramp": "RAMP",
    "sipac": "SiPAC",
    "sipml": "SiP-ML",
}
"""Titles of the papers, or their subjects, by what names of figures begin with."""
FOLDERS = ("lumorph", "ramp", "sipac", "sipml", "switches")

FIGURES: Catalogue[Figure] = Catalogue(
    *(f"{__name__}.{folder}" for folder in FOLDERS), attribute="FIGURE", noun="figure"
)
"""Every figure that can be computed, by name."""


def figure(name: str) -> Figure:
    """Return a figure."""
    return FIGURES.get(name)


@cache
def declared(package: str) -> dict[str, Any]:
    """Return what the ``figures.toml`` of a folder declares, as `figures` says."""
    text = files(package).joinpath("figures.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
