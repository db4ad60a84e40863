"""SiP-ML Fig. 10: time to accuracy against the number of GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    below,
    between,
    holds,
)
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipml.curve_styles import CLUSTERS, curve_panels
from lightloom.papers.sipml.setup import (
    CURVES,
    FLAT,
    LATENCY,
    OCS,
    RESNET,
    RING,
    ROOFLINE,
    TRANSFORMER,
)
from lightloom.papers.sipml.sweep import COLUMNS, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.sipml.setup import Trained
    from lightloom.report.panel import Panel

_CLUSTER = CLUSTERS[-1]
_ORDER = (FLAT, _CLUSTER, OCS, RING)
_CLOSE = 1.25
"""Times up to this part of the ideal one are called close to it."""
_WELL = 0.9
"""Who gains this part of what the ideal fabric gains from more GPUs scales well."""


def _compute(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (64, 256, 1024),
    rate: int = 8192,
    models: tuple[Trained, ...] = (RESNET, TRANSFORMER),
) -> Iterator[Row]:
    """Search, place and replay every model, number of GPUs and fabric."""
    for gpus in sizes:
        for trained in models:
            yield from sweep(trained, gpus, (rate,), tell, only=_ORDER)


def _claims(data: Data) -> Iterator[Comparison]:
    sizes = data.sizes("gpus")
    for model in data.names("model"):
        times = {
            name: data.curve("gpus", "minutes", model=model, fabric=name)
            for name in _ORDER
        }
        ratios = {
            name: [time / times[FLAT][gpus] for gpus, time in times[name].items()]
            for name in (OCS, RING)
        }
        yield holds(
            f"{model}: SiP-OCS and SiP-Ring are close to Elect-Flat",
            "close at all scales, the ring sometimes slightly worse",
            "; ".join(
                f"{name} {', '.join(f'{ratio:.2f}' for ratio in line)} of its time"
                for name, line in ratios.items()
            ),
            points=between(
                {
                    (name, f"{gpus} GPUs"): ratio
                    for name, line in ratios.items()
                    for gpus, ratio in zip(times[name], line, strict=True)
                },
                most=_CLOSE,
            ),
            why="with many GPUs iterations are short and communication weighs more:"
            " circuits are coarse, and on the ring long ways take light of others",
        )
        gains = {
            name: _last_gain(list(curve.values())) for name, curve in times.items()
        }
        claim, paper = "Elect-Cluster's gains taper off with scale", "taper off"
        why = "servers are not what limits this model at these sizes"
        kept = {"gain over Elect-Flat's": gains[_CLUSTER] / gains[FLAT]}
        points = below(kept, _WELL)
        if model == RESNET.model:
            claim, paper = "Elect-Cluster scales quite well", "quite well"
            why = "servers limit it already at these sizes"
            points = between(kept, least=_WELL)
        shown = ", ".join(f"{name} {gain:.2f}X" for name, gain in gains.items())
        yield holds(
            f"{model}: {claim}",
            paper,
            f"{shown} from {sizes[-2]} to {sizes[-1]} GPUs"
            if len(sizes) > 1
            else "one size",
            points=points,
            why=why,
        )


def _last_gain(times: list[float]) -> float:
    """Return the gain from the most GPUs over the second most."""
    return times[-2] / times[-1] if len(times) > 1 else 1.0


def _panels(data: Data) -> Iterator[Panel]:
    return curve_panels(data, "gpus", "GPUs", y_log=10)


FIGURE = Figure(
    name="sipml-fig10",
    takes_s=40,
    title="time to accuracy against the number of GPUs, 8 Tb/s a GPU",
    columns=COLUMNS,
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(CURVES, ROOFLINE, LATENCY),
)
