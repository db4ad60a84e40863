"""SiP-ML Fig. 6: how many devices share a model, against the rate of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    between,
    holds,
    rising,
)
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipml.setup import (
    CURVES,
    LATENCY,
    OCS,
    RESNET,
    ROOFLINE,
    TRANSFORMER,
)
from lightloom.papers.sipml.sweep import COLUMNS, sweep
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.sipml.setup import Trained


def _compute(
    tell: Tell,
    *,
    gpus: int = 1024,
    rates: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096, 10_240),
    models: tuple[Trained, ...] = (RESNET, TRANSFORMER),
) -> Iterator[Row]:
    """Search, place and replay every model and rate of a GPU in Gb/s."""
    for trained in models:
        yield from sweep(trained, gpus, rates, tell, only=(OCS,))


def _claims(data: Data) -> Iterator[Comparison]:
    gpus = data.given["gpus"]
    for model in data.names("model"):
        degrees = data.curve("gbit_per_s", "model_parallel", model=model)
        replicas = data.curve("gbit_per_s", "replicas", model=model)
        ks = list(degrees.values())
        shown = ", ".join(
            f"{rate}: {k} x {replicas[rate]}" for rate, k in degrees.items()
        )
        yield holds(
            f"{model}: more model parallelism as the rate grows (Fig. 6)",
            "more",
            shown,
            points=rising(degrees),
            why="with this curve and these compute times the best degree does not"
            " rise throughout",
        )
        if model == TRANSFORMER.model:
            first, *_, last = zip(ks, replicas.values(), strict=True)
            yield holds(
                f"{model}: from 1 x 1024 to 16 x 64 at 10 Tb/s (4.3)",
                "16 x 64",
                shown,
                points=between({"lowest rate, degree": first[0]}, least=1, most=1)
                + between({"its replicas there": first[1]}, least=gpus, most=gpus)
                + between({"highest rate, degree": last[0]}, least=16, most=16)
                + between(
                    {"replicas there": last[1]}, least=gpus // 16, most=gpus // 16
                ),
                why="degrees depend on the curve of iterations, the batches tried"
                " and compute times, none of which the paper gives",
            )


def _panels(data: Data) -> Iterator[Panel]:
    for model in data.names("model"):
        series = []
        for label, column in (
            ("model parallelism k", "model_parallel"),
            ("data parallelism l", "replicas"),
        ):
            curve = data.curve("gbit_per_s", column, model=model)
            series.append(Series(label, list(curve), list(curve.values())))
        yield Panel(
            model,
            "rate of a GPU (Gb/s)",
            "devices",
            series,
            x_log=2,
            y_log=2,
            x_ticks=[(rate, str(rate)) for rate in data.sizes("gbit_per_s")],
        )


FIGURE = Figure(
    name="sipml-fig6",
    takes_s=8,
    title="degrees of model and data parallelism on SiP-OCS, 1024 GPUs",
    columns=COLUMNS,
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(CURVES, ROOFLINE, LATENCY),
)
