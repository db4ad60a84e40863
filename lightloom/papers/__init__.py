"""Figures of papers, computed: a folder a paper, a file a figure, found by walking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lightloom.core.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.papers.reproduction import Reproduction

__all__ = ["FIGURES", "PAPERS", "Figure", "figure"]

PAPERS = ("lumorph", "ramp", "sipac", "sipml")
"""Folders here; names of figures begin with theirs."""


class Figure(Protocol):
    """A figure of a paper; each module here offers one as ``FIGURE``."""

    @property
    def name(self) -> str:
        """Name on the command line, for example ``lumorph-fig7``."""

    @property
    def title(self) -> str:
        """What the figure shows, in one line."""

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Compute the figure from schedules; `progress` is told what is being done."""


FIGURES: Catalogue[Figure] = Catalogue(
    *(f"{__name__}.{paper}" for paper in PAPERS), attribute="FIGURE", noun="figure"
)
"""Every figure that can be computed, by name."""


def figure(name: str) -> Figure:
    """Return a figure by name.

    Raises
    ------
    InputError
        If there is no such figure; the nearest names are suggested.
    """
    return FIGURES.get(name)
