"""SiP-ML Table 1: what the latency of a fabric costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import (
    Point,
    fact,
    holds,
    not_reproducible,
)
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipml.setup import (
    CURVES,
    FLAT,
    LATENCY,
    ROOFLINE,
    TRANSFORMER,
    best_plan,
    fabrics,
    minutes,
)
from lightloom.papers.sipml.sweep import MOST_MODEL_PARALLEL
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.sipml.setup import Trained
    from lightloom.report.panel import LineStyle

PAPER = {
    32: {1: 1.0, 3: 0.99, 10: 0.83, 30: 0.73, 100: 0.64},
    128: {1: 2.11, 3: 2.10, 10: 1.52, 30: 1.36, 100: 1.29},
    512: {1: 4.27, 3: 4.04, 10: 3.03, 30: 2.49, 100: 2.03},
}
"""Speed-ups of the paper by GPUs and latency in us."""

_RATE_GBIT = 10_000
_HARMFUL_US = 10


def _compute(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (32, 128, 512),
    latencies_us: tuple[int, ...] = (1, 3, 10, 30, 100),
    trained: Trained = TRANSFORMER,
) -> Iterator[Row]:
    """Search, place and replay every number of GPUs and latency."""
    planner, curve = trained.planner(tell), trained.curve()
    base = None
    for gpus in sizes:
        for latency in latencies_us:
            tell(f"{gpus} GPUs, {latency} us")
            named = fabrics(gpus, _RATE_GBIT, latency_ps=latency * PS_PER_US)
            plan = best_plan(planner, named[FLAT], curve, MOST_MODEL_PARALLEL)
            if plan is not None:
                base = base or minutes(plan)
                yield (
                    *(gpus, latency, plan.strategy.model_parallel),
                    *(plan.strategy.batch_size, plan.iteration_ps / 1e6),
                    base / minutes(plan),
                    PAPER.get(gpus, {}).get(latency),
                )


def _kept(speeds: dict[float, float]) -> dict[float, float]:
    """Return speeds over that at the least latency."""
    return {us: speed / speeds[min(speeds)] for us, speed in speeds.items()}


def _bands() -> dict[float, tuple[float, float]]:
    """Return by latency what the paper's rows keep of their speed, in two digits."""
    kept = [
        _kept({float(us): speed for us, speed in row.items()}) for row in PAPER.values()
    ]
    return {
        us: (
            round(min(one[us] for one in kept), 2),
            round(max(one[us] for one in kept), 2),
        )
        for us in kept[0]
    }


def _claims(data: Data) -> Iterator[Comparison]:
    first = data.sizes("latency_us")[0]
    bands = _bands()
    for gpus in data.sizes("gpus"):
        kept = _kept(data.curve("latency_us", "speedup", gpus=gpus))
        yield holds(
            f"{gpus} GPUs: latencies above about 10 us hurt",
            ", ".join(
                f"{us} us keep {low:.2f} to {high:.2f}"
                for us, (low, high) in bands.items()
                if us >= _HARMFUL_US
            ),
            ", ".join(f"{us} us keep {share:.2f}" for us, share in kept.items()),
            points=[
                Point(f"{us} us", round(share, 2), *bands[us])
                for us, share in kept.items()
                if us >= _HARMFUL_US and us in bands
            ]
            or fact("some latency is of the table", so=False),
            why="the table's model is another, and where few GPUs make iterations"
            " long a latency weighs less: our replay pays it once for each level of"
            " the graph and step of a ring",
        )
    speedups = data.curve("gpus", "speedup", latency_us=first)
    yield not_reproducible(
        "the speed-ups themselves",
        "1X to 4.27X",
        ", ".join(f"{gpus}: {speedup:.2f}X" for gpus, speedup in speedups.items())
        + f" at {first} us",
        "the model, its batch sizes and profiles are not given",
    )


def _panels(data: Data) -> Iterator[Panel]:
    """Yield ours and the paper's, over the fewest GPUs and over as many."""
    sizes, latencies = data.sizes("gpus"), data.sizes("latency_us")
    for base, line in ((f"{sizes[0]} GPUs", dict), ("as many GPUs", _kept)):
        series = []
        for colour, gpus in enumerate(sizes):
            for column, label, style in _CURVES:
                curve = line(data.curve("latency_us", column, gpus=gpus))
                if curve:
                    points = list(curve), list(curve.values())
                    series.append(Series(f"{gpus} GPUs{label}", *points, style, colour))
        yield Panel(
            f"Elect-Flat, over {base} at {latencies[0]} us",
            "fabric latency (us)",
            f"speed-up over {base}",
            series,
            x_log=10,
            x_ticks=[(us, str(us)) for us in latencies],
        )


_CURVES: tuple[tuple[str, str, LineStyle], ...] = (
    ("speedup", "", "-"),
    ("paper", " (paper)", "--"),
)
_MODEL = "The paper does not name the model of its table; ours is the Transformer."

FIGURE = Figure(
    name="sipml-table1",
    takes_s=16,
    title="speed-up against fabric latency, 10 Tb/s a GPU, Transformer",
    columns=(
        *("gpus", "latency_us", "model_parallel", "batch", "iteration_us"),
        *("speedup", "paper"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(_MODEL, CURVES, ROOFLINE, LATENCY),
)
