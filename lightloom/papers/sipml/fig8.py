"""SiP-ML Fig. 8: time to accuracy against the number of optical switches."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from lightloom.instances.fabrics.ocs import Ocs
from lightloom.papers.claims import (
    between,
    falling,
    holds,
)
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipml.setup import (
    CURVES,
    FLAT,
    LATENCY,
    OCS,
    ROOFLINE,
    TRANSFORMER,
    best_plan,
    fabrics,
    minutes,
)
from lightloom.papers.sipml.sweep import MOST_MODEL_PARALLEL
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.sipml.setup import Trained
    from lightloom.report.panel import LineStyle
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.training_plan import TrainingPlan

_NOISE = 1.01
"""Times that differ by less are called the same."""
_BYTES: CircuitMode = "one-shot"
_PATH: CircuitMode = "critical-path"
_WAYS: dict[CircuitMode, LineStyle] = {_BYTES: "-", _PATH: ":"}
"""Circuits by the paper's objective, and by what the iteration waits for."""
_WAYS_NOTE = (
    "one-shot: circuits by the bytes of an iteration, the paper's objective;"
    " critical-path: by what the iteration waits for, ours."
)


def _compute(
    tell: Tell,
    *,
    gpus: int = 1024,
    rates: tuple[int, ...] = (4096, 8192, 16_384),
    switches: tuple[int, ...] = (2, 4, 6, 8, 12, 16, 24, 32),
    trained: Trained = TRANSFORMER,
) -> Iterator[Row]:
    """Search, place and replay every rate of a GPU in Gb/s and number of switches.

    Without a number of switches: the ideal switch.
    """
    planner, curve = trained.planner(tell), trained.curve()
    for rate in sorted(rates):
        named = fabrics(gpus, rate)
        switched = named[OCS]
        assert isinstance(switched, Ocs)
        for way in _WAYS:
            for count in sorted(switches):
                tell(f"{rate} Gb/s, {count} switches, {way}")
                fabric = msgspec.structs.replace(switched, switches=count)
                plan = best_plan(planner, fabric, curve, MOST_MODEL_PARALLEL, way)
                yield from _rows((rate, count, way), plan)
        tell(f"{rate} Gb/s, {FLAT}")
        flat = best_plan(planner, named[FLAT], curve, MOST_MODEL_PARALLEL)
        yield from _rows((rate, None, None), flat)


def _rows(key: Row, plan: TrainingPlan | None) -> Iterator[Row]:
    """Yield what is to be said of a training, nothing where none can be run."""
    if plan is not None:
        strategy = plan.strategy
        yield (
            *(*key, strategy.model_parallel, strategy.replicas, strategy.batch_size),
            *(plan.iteration_ps / 1e6, minutes(plan)),
        )


def _times(data: Data, way: CircuitMode) -> dict[tuple[float, float], float]:
    """Return the minutes to train, by rate and number of switches."""
    return {
        (rate, count): data.number(
            "minutes", gbit_per_s=rate, switches=count, circuits=way
        )
        for rate in data.sizes("gbit_per_s")
        for count in data.sizes("switches")
    }


def _more_is_better(
    times: Mapping[tuple[float, float], float],
    claim: str,
    steps: Iterable[tuple[float, float]],
    why: str,
) -> Comparison:
    """Return how times fare from fewer switches to more."""
    switches = [count for _, count in times]
    first, last = min(switches), max(switches)
    slower = {
        (rate, fewer, more): times[rate, more] / times[rate, fewer]
        for fewer, more in steps
        for rate in dict.fromkeys(rate for rate, _ in times)
    }
    worst = {
        rate: max(ratio for step, ratio in slower.items() if step[0] == rate)
        for rate, *_ in slower
    }
    return holds(
        claim,
        "improves",
        "; ".join(
            f"{rate} Gb/s: {times[rate, first] / times[rate, last]:.2f}X from"
            f" {first} to {last}, {100 * (ratio - 1):.0f} % slower at the worst step"
            for rate, ratio in worst.items()
        ),
        points=between(
            {
                (f"{rate} Gb/s", f"{fewer} to {more} switches"): ratio
                for (rate, fewer, more), ratio in sorted(slower.items())
            },
            most=_NOISE,
        ),
        why=why,
    )


def _claims(data: Data) -> Iterator[Comparison]:
    rates, switches = data.sizes("gbit_per_s"), data.sizes("switches")
    times, last = _times(data, _BYTES), max(switches)
    middle = min(switches, key=lambda count: (abs(count - 12), count))
    first = min(switches)
    yield _more_is_better(
        times,
        "performance improves with more OCSs",
        pairwise(switches),
        "finer circuits follow the bytes of a whole iteration more closely, as"
        " the paper's objective has it, and give more to the rings over replicas:"
        " those hide behind the backward pass, and what tensors lose does not."
        " Four switches give each of four partners a circuit",
    )
    doubled = [
        (fewer, more)
        for fewer in switches
        for more in switches
        if more > fewer and more % fewer == 0
    ]
    yield _more_is_better(
        _times(data, _PATH),
        "performance improves with more OCSs (circuits by the critical path, each"
        " number against its divisors)",
        doubled,
        "fewer strategies are replayed than there are",
    )
    yield _more_is_better(
        _times(data, _PATH),
        "performance improves with more OCSs (circuits by the critical path)",
        pairwise(switches),
        "six circuits of a sixth of the rate do not divide among four partners as four"
        " of a quarter do",
    )
    gains = [times[rate, middle] / times[rate, last] for rate in rates]
    yield holds(
        "benefits are marginal beyond 12 OCSs",
        "marginal",
        f"{middle} to {last}: at most {100 * (max(gains) - 1):.1f} %",
        points=between(dict(zip(rates, gains, strict=True)), most=1.05),
        why="finer circuits still align better with the traffic",
    )
    spread = [times[rate, first] / times[rate, last] for rate in rates]
    yield holds(
        "a larger B is less sensitive to the number of OCSs",
        "less sensitive",
        ", ".join(
            f"{rate} Gb/s {ratio:.2f}X"
            for rate, ratio in zip(rates, spread, strict=True)
        ),
        points=falling(dict(zip(rates, spread, strict=True))),
        why="at low rates data parallelism with its single partner is chosen, which"
        " any number of switches serves; model parallelism, chosen at high rates,"
        " needs partners",
    )


def _panels(data: Data) -> Iterator[Panel]:
    rates, switches = data.sizes("gbit_per_s"), data.sizes("switches")
    curves, flats = [], []
    for colour, rate in enumerate(rates):
        for way, style in _WAYS.items():
            curve = data.curve("switches", "minutes", gbit_per_s=rate, circuits=way)
            points = list(curve), list(curve.values())
            label = f"B = {rate} Gb/s, {way}"
            curves.append(Series(label, *points, style, colour=colour))
        flat = data.number("minutes", gbit_per_s=rate, switches=None)
        ends = [switches[0], switches[-1]], [flat] * 2
        label = f"Elect-Flat, {rate} Gb/s"
        flats.append(Series(label, *ends, "--", colour, markers=False))
    yield Panel(
        "Transformer, SiP-OCS",
        "optical switches",
        "time to accuracy (minutes)",
        [*curves, *flats],
        x_log=2,
        x_ticks=[(count, str(count)) for count in switches],
    )


FIGURE = Figure(
    name="sipml-fig8",
    takes_s=90,
    title="time to accuracy against the number of OCSs, Transformer, one-shot",
    columns=(
        *("gbit_per_s", "switches", "circuits"),
        *("model_parallel", "replicas", "batch", "iteration_us", "minutes"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(
        "Without a number of switches: Elect-Flat.",
        *(_WAYS_NOTE, CURVES, ROOFLINE, LATENCY),
    ),
)
