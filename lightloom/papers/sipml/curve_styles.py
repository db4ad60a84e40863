"""Curves of fabrics over rates or sizes: each looks the same in every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.sipml.setup import (
    DATA_PARALLEL,
    FLAT,
    OCS,
    RING,
    UPLINKS_GBIT,
)
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.figure_data import Data
    from lightloom.report.panel import LineStyle

CLUSTERS = tuple(f"Elect-Cluster {rate}G" for rate in UPLINKS_GBIT)
_ORDER = (*CLUSTERS, OCS, RING, DATA_PARALLEL, FLAT)
_STYLES: dict[str, LineStyle] = {DATA_PARALLEL: ":", FLAT: "--", RING: "--"}
"""Broken lines are drawn over whole ones: curves that coincide are both seen."""


def curve_panels(
    data: Data, x: str, x_label: str, *, y_log: int | None = None
) -> Iterator[Panel]:
    """Yield the times to accuracy of each model on each fabric."""
    for model in data.names("model"):
        series = []
        for colour, fabric in enumerate(_ORDER):
            curve = data.curve(x, "minutes", model=model, fabric=fabric)
            if curve:
                style = _STYLES.get(fabric, "-")
                points = list(curve), list(curve.values())
                series.append(Series(fabric, *points, style, colour))
        yield Panel(
            model,
            x_label,
            "time to accuracy (minutes)",
            series,
            x_log=2,
            y_log=y_log,
            x_ticks=[(place, str(place)) for place in data.sizes(x)],
        )
