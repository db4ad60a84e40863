"""RAMP Fig. 19: speed-ups where all systems have the same rate of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    above,
    between,
    holds,
    near,
)
from lightloom.papers.plot import Plot
from lightloom.papers.ramp.baseline_networks import matched
from lightloom.papers.ramp.compared_systems import (
    AS_PRINTED,
    BEST_AND_PRINTED,
    ESTIMATED,
    GB,
    NOT_PRINTED,
    OPERATIONS,
    TERABIT,
    best_on,
    on_ramp,
    on_ramp_as_printed,
    on_rival_as_printed,
    title_of,
)
from lightloom.papers.reproduction import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.report.panel import Panel

FAT_TREE, TORUS, TOPOOPT = "fat-tree", "2d-torus", "topoopt"
RIVALS = (FAT_TREE, TORUS, TOPOOPT)
_BANDWIDTH = "all-to-all"
_SHOWN = ("reduce-scatter", "all-gather", "all-reduce", "all-to-all", "broadcast")

Gains = dict[tuple[float, str, str], float]
"""Speed-ups by (rate of a node in Gb/s, operation, system)."""


def _compute(
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


def _gains(data: Data, ending: str) -> Gains:
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


def _claims(data: Data) -> Iterator[Comparison]:
    rates = data.sizes("gbit_per_s")
    gain, known = _gains(data, AS_PRINTED), _gains(data, "")
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


def _panels(data: Data) -> Iterator[Panel]:
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


FIGURE = Figure(
    name="ramp-fig19",
    takes_s=3,
    title="speed-up of RAMP with 1 GB on 65,536 nodes at equal rates of a node",
    columns=(
        *("gbit_per_s", "operation", "system", "strategy", "time_us"),
        "times_ramp",
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=(ESTIMATED, BEST_AND_PRINTED),
)
