"""Curves of fabrics: each looks the same in every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from lightloom.papers.sipml.setup import (
    DATA_PARALLEL,
    FLAT,
    OCS,
    RING,
    UPLINKS_GBIT,
)
from lightloom.report.plots import Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CLUSTERS = tuple(f"Elect-Cluster {rate}G" for rate in UPLINKS_GBIT)
_ORDER = (*CLUSTERS, OCS, RING, DATA_PARALLEL, FLAT)
_Style: TypeAlias = Literal["-", "--", ":"]
_STYLES: dict[str, _Style] = {DATA_PARALLEL: ":", FLAT: "--", RING: "--"}
"""Broken lines are drawn over whole ones: curves that coincide are both seen."""


def lines(curves: Mapping[str, Mapping[int, float]]) -> Iterator[Series]:
    """Yield the curve of each fabric, given by name, that has points."""
    for colour, fabric in enumerate(_ORDER):
        curve = curves.get(fabric)
        if curve:
            x, y = list(curve), list(curve.values())
            style: _Style = _STYLES.get(fabric, "-")
            yield Series(fabric, x, y, style=style, colour=colour)
