"""SiP-ML Fig. 9: optical switches set anew within an iteration, or never."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.papers.claims import (
    above,
    below,
    between,
    fact,
    holds,
    rising,
)
from lightloom.papers.reproduction import Figure
from lightloom.papers.sipml.setup import (
    CURVES,
    GBIT,
    LATENCY,
    LATENCY_PS,
    ROOFLINE,
    TRANSFORMER,
    minutes,
)
from lightloom.report.panel import Panel, Series
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.papers.sipml.setup import Trained

_CRITICAL_US = 300
_AS_WELL = 0.95
_SWITCHES, _MODEL_PARALLEL, _BATCH = 16, 4, 256

Times = dict[tuple[float, float | None], float]
"""Minutes by (rate of a GPU in Gb/s, delay in us); ``None``: circuits that stay."""


def _compute(
    tell: Tell,
    *,
    gpus: int = 1024,
    rates: tuple[int, ...] = (2048, 8192),
    delays_us: tuple[int, ...] = (10, 30, 100, 200, 400, 1_000),
    trained: Trained = TRANSFORMER,
) -> Iterator[Row]:
    """Replay every rate of a GPU in Gb/s and every delay, then circuits that stay."""
    planner = trained.planner(tell)
    for rate in rates:
        for delay in (*delays_us, None):
            tell(f"{rate} Gb/s, {'one-shot' if delay is None else f'{delay} us'}")
            fabric = Ocs(
                nodes=gpus,
                switches=_SWITCHES,
                bits_per_second_per_node=rate * GBIT,
                alpha_ps=LATENCY_PS,
            )
            if delay is not None:
                fabric = msgspec.structs.replace(
                    fabric, reconfiguration_ps=delay * PS_PER_US
                )
            plan = planner.plan(
                fabric,
                TrainingRequest(
                    iterations={_BATCH: trained.curve()[_BATCH]},
                    model_parallel=_MODEL_PARALLEL,
                    circuits="one-shot" if delay is None else "controlled",
                    replayed=1,
                    powers_of_two=True,
                ),
            )
            yield (
                *(rate, delay, len(plan.timeline.reconfigurations)),
                *(plan.iteration_ps / 1e6, minutes(plan)),
            )


def _claims(data: Data) -> Iterator[Comparison]:
    rates, delays = data.sizes("gbit_per_s"), data.sizes("delay_us")
    times: Times = {
        (rate, delay): data.number("minutes", gbit_per_s=rate, delay_us=delay)
        for rate in rates
        for delay in (*delays, None)
    }
    for rate in rates:
        line = [times[rate, delay] for delay in delays]
        stay = times[rate, None]
        yield holds(
            f"{rate} Gb/s: a smaller delay always helps",
            "always",
            ", ".join(
                f"{delay} us {time / times[rate, None]:.2f} of one-shot"
                for delay, time in zip(delays, line, strict=True)
            ),
            points=rising(dict(zip(delays, line, strict=True))),
            why="a short period measures part of an operation, which is over when"
            " its circuits come; each setting leaves a whole switch dark",
        )
        better = [delay for delay in delays if times[rate, delay] < stay]
        yield holds(
            f"{rate} Gb/s: one-shot beats reconfiguration beyond {_CRITICAL_US} us",
            f"for d > {_CRITICAL_US} us",
            "reconfiguration is faster at"
            f" {', '.join(map(str, better)) or 'none of the delays'} (us)",
            points=between(
                {
                    f"{delay} us over one-shot": times[rate, delay] / stay
                    for delay in delays
                    if delay > _CRITICAL_US
                },
                least=1,
            )
            or fact("some delay is beyond it", so=False),
            why="the delay from which circuits that stay are better depends on how"
            " long an operation's traffic lasts, and so on rate and model",
        )
    yield from _best_delays(times, rates, delays)


def _best_delays(
    times: Times, rates: list[float], delays: list[float]
) -> Iterator[Comparison]:
    """Compare one-shot with the best delay, at the lowest and the highest rate."""
    best = {
        rate: min(times[rate, delay] for delay in delays) / times[rate, None]
        for rate in rates
    }
    low, high = min(best), max(best)
    yield holds(
        f"{low} Gb/s: fast reconfiguration beats one-shot",
        "it does",
        f"{best[low]:.2f} of one-shot's time at the best delay",
        points=below({"best delay over one-shot": best[low]}, 1),
        why="each setting leaves a switch dark, and all pairs keep a circuit",
    )
    yield holds(
        f"{high} Gb/s: one-shot does as well as fast reconfiguration",
        "as well",
        f"{best[high]:.2f} of one-shot's time at the best delay",
        points=above({"best delay over one-shot": best[high]}, _AS_WELL),
        why="circuits that follow the traffic are still worth their dark times",
    )


def _panels(data: Data) -> Iterator[Panel]:
    delays = data.sizes("delay_us")
    changing, staying = [], []
    for colour, rate in enumerate(data.sizes("gbit_per_s")):
        curve = data.curve("delay_us", "minutes", gbit_per_s=rate)
        label = f"B = {rate} Gb/s, reconfigured"
        points = list(curve), list(curve.values())
        changing.append(Series(label, *points, colour=colour))
        stay = data.number("minutes", gbit_per_s=rate, delay_us=None)
        level = delays, [stay] * len(delays)
        label = f"B = {rate} Gb/s, one-shot"
        staying.append(Series(label, *level, "--", colour, markers=False))
    yield Panel(
        "Transformer, SiP-OCS",
        "reconfiguration delay (us)",
        "time to accuracy (minutes)",
        [*changing, *staying],
        x_log=10,
        x_ticks=[(delay, str(delay)) for delay in delays],
    )


_STAYING = (
    "Without a delay: circuits for the traffic of the whole iteration, which stay."
)
_FOLLOWING = (
    "Circuits are set for the traffic of the period before: dark for one delay, held"
    " for five. Every pair of the iteration keeps one circuit, which the paper does not"
    " say; without it what begins after a period was measured waits for the next one."
    " Where nothing was set anew the circuits for a period are those for the iteration."
)

FIGURE = Figure(
    name="sipml-fig9",
    takes_s=6,
    title="time to accuracy against the delay of an OCS, Transformer",
    columns=(
        *("gbit_per_s", "delay_us", "reconfigurations", "iteration_us"),
        "minutes",
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(
        f"{_MODEL_PARALLEL} devices a replica, batch {_BATCH}.",
        *(_STAYING, _FOLLOWING, CURVES, ROOFLINE, LATENCY),
    ),
)
