"""RAMP Fig. 18: every operation with 1 GB on 65,536 nodes, by the best strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import (
    above,
    between,
    holds,
    near,
)
from lightloom.papers.collective_bounds import best_bound, bound_text
from lightloom.papers.plot import Plot
from lightloom.papers.ramp.baseline_networks import as_published
from lightloom.papers.ramp.collective_estimates import ramp_runs
from lightloom.papers.ramp.compared_systems import (
    AS_PRINTED,
    BEST_AND_PRINTED,
    ESTIMATED,
    GB,
    NOT_PRINTED,
    OPERATIONS,
    PROCESSOR,
    RAMP,
    best_on,
    on_ramp,
    on_ramp_as_printed,
    on_rival_as_printed,
    ramp,
    rounded,
    title_of,
)
from lightloom.papers.ramp.repeated_steps import total
from lightloom.papers.reproduction import Figure
from lightloom.synth.ramp.participants import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.report.panel import Panel

LEAST, MOST = ("reduce-scatter", 7.6), ("all-to-all", 171.0)
"""Operations with the least and the greatest speed-up, as the paper has them."""
_NETS = as_published()
_RIVALS = tuple(network.name for network in _NETS)


def _compute(tell: Tell, *, size_bytes: int = GB) -> Iterator[Row]:
    """Estimate every operation on every system, by our best and by the paper's."""
    for op in OPERATIONS:
        tell(op)
        best = (
            on_ramp(op, size_bytes),
            *(best_on(net, op, size_bytes) for net in _NETS),
        )
        printed = (
            on_ramp_as_printed(op, size_bytes),
            *(on_rival_as_printed(net, op, size_bytes) for net in _NETS),
        )
        for systems in (best, printed):
            mine, *_ = systems
            for timed in systems:
                yield (
                    *(op, timed.system, timed.label, timed.us, timed.time.steps),
                    timed.times(mine),
                )


def _gains(data: Data, ending: str) -> dict[str, dict[str, float]]:
    """Return times of RAMP's by operation and system, of all with one ending."""
    return {
        op: {
            name: data.number("times_ramp", operation=op, system=name + ending)
            for name in _RIVALS
        }
        for op in OPERATIONS
    }


def _claims(data: Data) -> Iterator[Comparison]:
    gains, best = _gains(data, AS_PRINTED), _gains(data, "")
    gain, known = (
        {op: min(over.values()) for op, over in of.items()} for of in (gains, best)
    )
    size_bytes = data.given["size_bytes"]
    op, paper = LEAST
    shown = ", ".join(f"{name} {times:.1f}X" for name, times in gains[op].items())
    why = f"{shown}; {NOT_PRINTED}"
    yield near(
        *(f"least speed-up of {op}", paper, gain[op], "X"),
        why=why,
        best=_best(data, op, best[op]),
        bound=_bound(op, size_bytes),
    )
    yield holds(
        "RAMP is the fastest system at every operation",
        "yes",
        f"{min(gain.values()):.1f}X to {max(gain.values()):.1f}X",
        points=above(gain, 1)
        + above({f"{op}, best": times for op, times in known.items()}, 1),
        why=NOT_PRINTED,
        best=f"{min(known.values()):.1f}X to {max(known.values()):.1f}X",
    )
    least, least_known = (min(of, key=of.__getitem__) for of in (gain, known))
    yield holds(
        "the speed-up is least for",
        op,
        least,
        points=between({at: times / gain[op] for at, times in gain.items()}, least=1),
        why=f"the paper's all-to-all needs transceivers that collide: {_ALL_TO_ALL}",
        best=least_known,
    )
    op, paper = MOST
    yield near(
        *(f"least speed-up of {op}", paper, gain[op], "X"),
        why="with the printed 17 transceivers a pair in step 4, which collide, RAMP"
        f" would take {_printed_all_to_all_us(size_bytes):,.0f} us. How rivals spread"
        " what is for other nodes is not printed",
        best=_best(data, op, best[op]),
        bound=_bound(op, size_bytes),
    )
    most, most_known = (max(of, key=of.__getitem__) for of in (gain, known))
    yield holds(
        "the speed-up is greatest for",
        op,
        most,
        points=between({at: times / gain[op] for at, times in gain.items()}, most=1),
        why=f"the paper's all-to-all needs transceivers that collide: {_ALL_TO_ALL}",
        best=most_known,
    )
    adding = [
        timed.time.compute_ps
        for timed in (
            on_ramp("reduce-scatter", size_bytes),
            on_rival_as_printed(_NETS[0], "reduce-scatter", size_bytes),
            best_on(_NETS[0], "reduce-scatter", size_bytes),
        )
    ]
    faster, known_faster = (float(other / adding[0]) for other in adding[1:])
    yield near(
        *("adding up is faster by (section 8.2)", 2.8, faster, "X"),
        best=f"{known_faster:.2f}X: a fat tree by levels adds up many at once too",
    )


def _best(data: Data, op: str, gains: dict[str, float]) -> str:
    """Return the least speed-up with the best algorithms, which are named."""
    rival = min(gains, key=gains.__getitem__)
    named = []
    for system in (RAMP, rival):
        row = data.where(operation=op, system=system)
        label, us = row.names("strategy")[0], row.numbers("time_us")[0]
        named.append(f"{title_of(system)} {us:,.0f} us ({label})")
    return f"{gains[rival]:.1f}X: {', '.join(named)}"


def _bound(op: str, size_bytes: int) -> str:
    """Return what no schedule of RAMP can beat."""
    return f"RAMP {bound_text(best_bound(ramp(), op, size_bytes))}"


def _printed_all_to_all_us(size_bytes: int) -> float:
    """Return the time of all-to-all with the transceivers of equation (3)."""
    fabric = ramp()
    rate = fabric.transceiver_bits_per_s
    *others, last = ramp_runs(
        Shape(32, 32, 64), "all-to-all", size_bytes, 32, rate, fabric.alpha_ps
    )
    # Subgroups of d = 2: 1 + floor((x - floor(x / d) (d - 1)) / (d - 1)) for x = 32.
    last = replace(last, bits_per_s=17 * rate)
    return float(total([*others, last], PROCESSOR).total_ps) / PS_PER_US


_ALL_TO_ALL = (
    "in its four steps half of the data waits for the one transceiver of a pair in"
    " step 4 that does not collide"
)


def _panels(data: Data) -> Iterator[Panel]:
    for ending, how in (("", "best known"), (AS_PRINTED, "the paper's")):
        plot = Plot(
            x="operation",
            y="time_us",
            series="system",
            title=f"1 GB, 65,536 nodes: {how} algorithms",
            x_label="",
            y_label="time (ms)",
            only=tuple(name + ending for name in (*_RIVALS, RAMP)),
            names=lambda name: title_of(name.removesuffix(AS_PRINTED)),
            kind="dots",
            y_log=10,
            shown=lambda us: rounded(us / 1000),
        )
        yield from plot(data)


FIGURE = Figure(
    name="ramp-fig18",
    takes_s=2,
    title="operations with 1 GB on 65,536 nodes, best strategy of each system",
    columns=("operation", "system", "strategy", "time_us", "steps", "times_ramp"),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(ESTIMATED, BEST_AND_PRINTED),
)
