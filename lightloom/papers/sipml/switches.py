"""SiP-ML Figs 8 and 9: how many optical switches, and how often they change."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.papers.claims import above, below, between, fact, falling, holds, rising
from lightloom.papers.reproduction import figures
from lightloom.papers.sipml.setup import (
    FLAT,
    GBIT,
    LATENCY_PS,
    MOST_MODEL_PARALLEL,
    OCS,
    TRANSFORMER,
    best_plan,
    fabrics,
    minutes,
)
from lightloom.report.panel import Panel, Series
from lightloom.training.training_plan import TrainingRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell
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


def _fig8_rows(
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
                yield from _plan_rows((rate, count, way), plan)
        tell(f"{rate} Gb/s, {FLAT}")
        flat = best_plan(planner, named[FLAT], curve, MOST_MODEL_PARALLEL)
        yield from _plan_rows((rate, None, None), flat)


def _plan_rows(key: Row, plan: TrainingPlan | None) -> Iterator[Row]:
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


def _fig8_claims(data: Data) -> Iterator[Comparison]:
    switches = data.sizes("switches")
    yield _more_is_better(
        _times(data, _BYTES),
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
    yield from _gains_at_ends(_times(data, _BYTES))


def _gains_at_ends(times: Mapping[tuple[float, float], float]) -> Iterator[Comparison]:
    """Compare the most switches with the fewest, and with about twelve."""
    rates = dict.fromkeys(rate for rate, _ in times)
    switches = [count for _, count in times]
    first, last = min(switches), max(switches)
    middle = min(switches, key=lambda count: (abs(count - 12), count))
    gains = {rate: times[rate, middle] / times[rate, last] for rate in rates}
    yield holds(
        "benefits are marginal beyond 12 OCSs",
        "marginal",
        f"{middle} to {last}: at most {100 * (max(gains.values()) - 1):.1f} %",
        points=between(gains, most=1.05),
        why="finer circuits still align better with the traffic",
    )
    spread = {rate: times[rate, first] / times[rate, last] for rate in rates}
    yield holds(
        "a larger B is less sensitive to the number of OCSs",
        "less sensitive",
        ", ".join(f"{rate} Gb/s {ratio:.2f}X" for rate, ratio in spread.items()),
        points=falling(spread),
        why="at low rates data parallelism with its single partner is chosen, which"
        " any number of switches serves; model parallelism, chosen at high rates,"
        " needs partners",
    )


def _fig8_panels(data: Data) -> Iterator[Panel]:
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


_CRITICAL_US = 300
"""Delay, as printed, in microseconds."""
_AS_WELL = 0.95
"""Time over one-shot's from which both do as well."""
_SWITCHES, _MODEL_PARALLEL, _BATCH = 16, 4, 256
"""The paper's example."""

Times = dict[tuple[float, float | None], float]
"""Minutes by (rate of a GPU in Gb/s, delay in us); ``None``: circuits that stay."""


def _fig9_rows(
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


def _fig9_claims(data: Data) -> Iterator[Comparison]:
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


def _fig9_panels(data: Data) -> Iterator[Panel]:
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


FIGURE = figures(
    __package__,
    ("sipml-fig8", _fig8_rows, _fig8_claims, _fig8_panels),
    ("sipml-fig9", _fig9_rows, _fig9_claims, _fig9_panels),
)
