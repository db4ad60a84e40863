"""RAMP Fig. 23: computing in a reduce-scatter, two buffers at a time or all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import (
    above,
    holds,
    near,
)
from lightloom.papers.ramp.all_reduce_sweep import SIZES
from lightloom.papers.ramp.baseline_networks import topoopt
from lightloom.papers.ramp.baseline_strategies import plans
from lightloom.papers.ramp.compared_systems import GB, PROCESSOR, ramp
from lightloom.papers.ramp.ramp_estimate import boxes, fastest
from lightloom.papers.ramp.ramp_estimate import plans as ramp_plans
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

OP = "reduce-scatter"


def _compute(
    tell: Tell, *, nodes: tuple[int, ...] = SIZES, size_bytes: int = GB
) -> Iterator[Row]:
    """Yield the time that sums take with one source a step, and on RAMP."""
    fabric = ramp()
    for count in nodes:
        tell(f"{count} nodes")
        line = plans(topoopt(1).part(count), OP, size_bytes)
        steps = ramp_plans(fabric, next(boxes(fabric, count)), OP, size_bytes)
        one, several = (
            float(fastest(offered, PROCESSOR)[1].compute_ps) / PS_PER_US
            for offered in (line, steps)
        )
        yield count, one, several, one / several


def _claims(data: Data) -> Iterator[Comparison]:
    ratios = data.numbers("ratio")
    last = data.sizes("nodes")[-1]
    yield near(f"speed-up at {last} nodes", 2.8, ratios[-1], "X")
    yield holds(
        "adding several sources at once is faster at every size",
        "yes",
        f"{min(ratios):.2f}X to {max(ratios):.2f}X",
        points=above(dict(zip(data.sizes("nodes"), ratios, strict=True)), 1),
        why="with two members a step has one source too",
    )


def _panels(data: Data) -> Iterator[Panel]:
    nodes = data.sizes("nodes")
    yield Panel(
        "1 GB",
        "nodes",
        "computing (us)",
        [
            Series("one source a step", nodes, data.numbers("one_source_us")),
            Series("RAMP, several sources", nodes, data.numbers("ramp_us")),
        ],
        x_log=2,
        x_ticks=[(count, f"{count:,}") for count in nodes[::4]],
    )


_NOTE = (
    "Adding d buffers reads d and writes one: 3/2 of the buffer's bytes for each step"
    " of two, (d + 1)/d for d; memory of 2 TB/s is what counts, not the 130 TFLOP/s."
)

FIGURE = Figure(
    name="ramp-fig23",
    title="time to add up 1 GB in a reduce-scatter",
    columns=("nodes", "one_source_us", "ramp_us", "ratio"),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(_NOTE,),
)
