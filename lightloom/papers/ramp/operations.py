"""RAMP Figs 18 and 19: operations with 1 GB on 65,536 nodes, by the best strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import above, between, holds, near
from lightloom.papers.collectives import best_bound, bound_text
from lightloom.papers.ramp.closed_forms import ramp_runs, total
from lightloom.papers.ramp.rivals import as_published, matched
from lightloom.papers.ramp.systems import (
    AS_PRINTED,
    BEST_AND_PRINTED,
    ESTIMATED,
    GB,
    NOT_PRINTED,
    OPERATIONS,
    PROCESSOR,
    RAMP,
    TERABIT,
    best_on,
    on_ramp,
    on_ramp_as_printed,
    on_rival_as_printed,
    ramp,
    rounded,
    title_of,
)
from lightloom.papers.reproduction import Figure, Plot
from lightloom.synth.ramp.subgroups import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell
    from lightloom.report.panel import Panel

LEAST, MOST = ("reduce-scatter", 7.6), ("all-to-all", 171.0)
"""Operations with the least and the greatest speed-up, as the paper has them."""
_NETS = as_published()
_SYSTEMS = tuple(network.name for network in _NETS)


def _fig18_rows(tell: Tell, *, size_bytes: int = GB) -> Iterator[Row]:
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


def _fig18_gains(data: Data, ending: str) -> dict[str, dict[str, float]]:
    """Return times of RAMP's by operation and system, of all with one ending."""
    return {
        op: {
            name: data.number("times_ramp", operation=op, system=name + ending)
            for name in _SYSTEMS
        }
        for op in OPERATIONS
    }


def _fig18_claims(data: Data) -> Iterator[Comparison]:
    gains, best = _fig18_gains(data, AS_PRINTED), _fig18_gains(data, "")
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


def _fig18_panels(data: Data) -> Iterator[Panel]:
    for ending, how in (("", "best known"), (AS_PRINTED, "the paper's")):
        plot = Plot(
            x="operation",
            y="time_us",
            series="system",
            title=f"1 GB, 65,536 nodes: {how} algorithms",
            x_label="",
            y_label="time (ms)",
            only=tuple(name + ending for name in (*_SYSTEMS, RAMP)),
            names=lambda name: title_of(name.removesuffix(AS_PRINTED)),
            kind="dots",
            y_log=10,
            shown=lambda us: rounded(us / 1000),
        )
        yield from plot(data)


FAT_TREE, TORUS, TOPOOPT = "fat-tree", "2d-torus", "topoopt"
RIVALS = (FAT_TREE, TORUS, TOPOOPT)
_BANDWIDTH = "all-to-all"
_SHOWN = ("reduce-scatter", "all-gather", "all-reduce", "all-to-all", "broadcast")

Gains = dict[tuple[float, str, str], float]
"""Speed-ups by (rate of a node in Gb/s, operation, system)."""


def _fig19_rows(
    tell: Tell,
    *,
    rates: tuple[int, ...] = (200, 400, 800, 1600, 3200, 6400, 12_800),
    size_bytes: int = GB,
) -> Iterator[Row]:
    """Estimate every operation on every system at every rate of a node in Gb/s."""
    for rate in rates:
        tell(f"{rate} Gb/s")
        bits_per_s = rate * TERABIT // 1000
        for op in OPERATIONS:
            nets = matched(bits_per_s)
            best = (
                on_ramp(op, size_bytes, bits_per_s=bits_per_s),
                *(best_on(net, op, size_bytes) for net in nets),
            )
            printed = (
                on_ramp_as_printed(op, size_bytes, bits_per_s=bits_per_s),
                *(on_rival_as_printed(net, op, size_bytes) for net in nets),
            )
            for systems in (best, printed):
                for timed in systems:
                    yield (
                        *(rate, op, timed.system, timed.label, timed.us),
                        timed.times(systems[0]),
                    )


def _fig19_gains(data: Data, ending: str) -> Gains:
    """Return times over RAMP's, of all systems with one ending."""
    return {
        (rate, op, name): data.number(
            "times_ramp",
            gbit_per_s=rate,
            operation=op,
            system=name + ending,
        )
        for rate in data.sizes("gbit_per_s")
        for op in OPERATIONS
        for name in RIVALS
    }


def _least(gain: Gains) -> dict[tuple[float, str], float]:
    """Return the least speed-up over any rival, by rate and operation."""
    found: dict[tuple[float, str], float] = {}
    for (rate, op, _), times in gain.items():
        found[rate, op] = min(times, found.get((rate, op), times))
    return found


def _fig19_claims(data: Data) -> Iterator[Comparison]:
    rates = data.sizes("gbit_per_s")
    gain, known = _fig19_gains(data, AS_PRINTED), _fig19_gains(data, "")
    best, best_known = _least(gain), _least(known)
    least, most = min(best.values()), max(*gain.values(), 1.0)
    yield holds(
        "range of speed-ups",
        "1.04X to 2.24E3X (2.2E4X for all-to-all)",
        f"{least:.2f}X to {most:.3g}X",
        points=between({"least": least}, least=1.035, most=1.045)
        + between({"greatest": most}, least=2.2e3, most=2.3e4),
        why=NOT_PRINTED,
        best=f"{min(best_known.values()):.2f}X to {max(*known.values(), 1.0):.3g}X",
    )
    yield holds(
        "RAMP is the fastest at every rate and operation",
        "yes",
        _behind(best),
        points=between(best, least=1)
        + between({(*key, "best"): of for key, of in best_known.items()}, least=1),
        why="at low rates 31 of 32 transceivers are what counts, for a node has 31"
        " peers in the first step; and a fat tree whose nodes exchange with all of a"
        " level at once has as few steps as RAMP",
        best=_behind(best_known),
    )
    cases = [key for key in best if key[1] != "broadcast"]
    others = [key for key in cases if best[key] < gain[*key, FAT_TREE]]
    yield holds(
        "of the others the fat tree is always the fastest, but for broadcast",
        "yes",
        f"in {len(cases) - len(others)} of {len(cases)} cases",
        points=between(
            {key: best[key] / gain[*key, FAT_TREE] for key in cases}, least=1
        ),
        why=NOT_PRINTED,
    )
    yield from _growth(gain, known, rates[0], rates[-1])


def _behind(gains: dict[tuple[float, str], float]) -> str:
    """Return in how many cases RAMP is behind, and how far by operation."""
    behind = {key: times for key, times in gains.items() if times < 1}
    worst = {
        op: min(times for (_, at), times in behind.items() if at == op)
        for op in OPERATIONS
        if any(at == op for _, at in behind)
    }
    shown = ", ".join(f"{times:.2f}X {op}" for op, times in worst.items())
    return f"behind in {len(behind)} of {len(gains)} cases" + (shown and f": {shown}")


def _growth(
    gain: Gains, known: Gains, slow: float, fast: float
) -> Iterator[Comparison]:
    """Yield the claims on speed-ups at the highest rate over those at the least."""
    grows = {
        system: {
            op: gain[fast, op, system] / gain[slow, op, system]
            for op in OPERATIONS
            if op != _BANDWIDTH
        }
        for system in (FAT_TREE, TOPOOPT)
    }
    every = [times for of in grows.values() for times in of.values()]
    yield holds(
        f"speed-ups over fat tree and TopoOpt grow from {slow} to {fast} Gb/s",
        "yes, but for all-to-all",
        f"{min(every):.1f}X to {max(every):.1f}X",
        points=above(
            {
                (system, op): times
                for system, of in grows.items()
                for op, times in of.items()
            },
            1,
        ),
        why=NOT_PRINTED,
    )
    for system, paper in ((FAT_TREE, 32.0), (TOPOOPT, 27.0)):
        op = max(grows[system], key=grows[system].__getitem__)
        yield near(
            f"greatest growth over {system} ({op})",
            paper,
            grows[system][op],
            "X",
            why=NOT_PRINTED,
            best=f"{known[fast, op, system] / known[slow, op, system]:.2f}X",
        )


def _fig19_panels(data: Data) -> Iterator[Panel]:
    drawn = {f"over {title_of(system)}, best known": system for system in RIVALS}
    drawn[f"over {title_of(FAT_TREE)}, the paper's algorithms"] = FAT_TREE + AS_PRINTED
    for title, system in drawn.items():
        plot = Plot(
            x="gbit_per_s",
            y="times_ramp",
            series="operation",
            title=title,
            x_label="rate of a node (Gb/s)",
            y_label="speed-up of RAMP",
            only=_SHOWN,
            x_log=2,
            y_log=10,
            ticks_every=2,
        )
        yield from plot(data.where(system=system))


FIGURE = (
    Figure(
        name="ramp-fig18",
        takes_s=2,
        title="operations with 1 GB on 65,536 nodes, best strategy of each system",
        columns=("operation", "system", "strategy", "time_us", "steps", "times_ramp"),
        compute=_fig18_rows,
        claims=_fig18_claims,
        panels=_fig18_panels,
        notes=(ESTIMATED, BEST_AND_PRINTED),
    ),
    Figure(
        name="ramp-fig19",
        takes_s=3,
        title="speed-up of RAMP with 1 GB on 65,536 nodes at equal rates of a node",
        columns=(
            *("gbit_per_s", "operation", "system", "strategy", "time_us"),
            "times_ramp",
        ),
        compute=_fig19_rows,
        claims=_fig19_claims,
        panels=_fig19_panels,
        notes=(ESTIMATED, BEST_AND_PRINTED),
    ),
)
