"""RAMP Figs 18 and 19: operations with 1 GB on 65,536 nodes, by the best strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import above, between, holds, near
from lightloom.papers.collectives import best_bound, bound_text
from lightloom.papers.ramp.closed_forms import as_published, matched, ramp_runs, total
from lightloom.papers.ramp.systems import (
    AS_PRINTED,
    GB,
    NOT_PRINTED,
    OPERATIONS,
    PROCESSOR,
    RAMP,
    RAMP_BITS_PER_S,
    TERABIT,
    best_on,
    on_ramp,
    on_ramp_as_printed,
    on_rival_as_printed,
    ramp,
    rounded,
    title_of,
)
from lightloom.papers.reproduction import Plot, figures
from lightloom.synth.ramp.team import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.papers.claims import Comparison
    from lightloom.papers.ramp.closed_forms import TieredNetwork
    from lightloom.papers.ramp.systems import Timed
    from lightloom.papers.reproduction import Data, Row, Tell
    from lightloom.report.panel import Panel

LEAST, MOST = ("reduce-scatter", 7.6), ("all-to-all", 171.0)
"""Operations with the least and the greatest speed-up, as the paper has them."""


FAT_TREE, _, TOPOOPT = RIVALS = tuple(network.name for network in as_published())


def _timed(
    op: str, size_bytes: int, nets: Sequence[TieredNetwork], bits_per_s: int
) -> Iterator[tuple[Timed, float]]:
    """Yield systems with times over RAMP's: by our best, and by the paper's."""
    for on_mine, on_theirs in (
        (on_ramp, best_on),
        (on_ramp_as_printed, on_rival_as_printed),
    ):
        mine = on_mine(op, size_bytes, bits_per_s=bits_per_s)
        for timed in (mine, *(on_theirs(net, op, size_bytes) for net in nets)):
            yield timed, timed.times(mine)


def _gains(data: Data, ending: str) -> dict[tuple[str, str], float]:
    """Return times over RAMP's by operation and system, of all with one ending."""
    return {
        (op, name): data.number("times_ramp", operation=op, system=name + ending)
        for op in OPERATIONS
        for name in RIVALS
    }


def _least(gains: dict[tuple[str, str], float]) -> dict[str, float]:
    """Return the least speed-up over any rival, by operation."""
    return {op: min(gains[op, name] for name in RIVALS) for op in OPERATIONS}


def _fig18_rows(tell: Tell, *, size_bytes: int = GB) -> Iterator[Row]:
    """Estimate every operation on every system, by our best and by the paper's."""
    for op in OPERATIONS:
        tell(op)
        for timed, times in _timed(op, size_bytes, as_published(), RAMP_BITS_PER_S):
            steps = timed.time.steps
            yield op, timed.system, timed.label, timed.us, steps, times


def _fig18_claims(data: Data) -> Iterator[Comparison]:
    gains, best = _gains(data, AS_PRINTED), _gains(data, "")
    gain, known = _least(gains), _least(best)
    size_bytes = data.given["size_bytes"]
    shown = ", ".join(f"{name} {gains[LEAST[0], name]:.1f}X" for name in RIVALS)
    collide = (
        "with the printed 17 transceivers a pair in step 4, which collide, RAMP would"
        f" take {_printed_all_to_all_us(size_bytes):,.0f} us. How rivals spread what is"
        " for other nodes is not printed"
    )
    ends: list[Comparison] = []
    for (op, paper), pick, word, why in (
        (LEAST, min, "least", f"{shown}; {NOT_PRINTED}"),
        (MOST, max, "greatest", collide),
    ):
        over = {name: best[op, name] for name in RIVALS}
        ends += (
            near(
                *(f"least speed-up of {op}", paper, gain[op], "X"),
                why=why,
                best=_best(data, op, over),
                bound=f"RAMP {bound_text(best_bound(ramp(), op, size_bytes))}",
            ),
            holds(
                f"the speed-up is {word} for",
                op,
                pick(gain, key=gain.__getitem__),
                points=between(
                    {at: times / gain[op] for at, times in gain.items()},
                    **{"least" if pick is min else "most": 1},
                ),
                why=f"the paper's all-to-all needs transceivers that collide:"
                f" {_ALL_TO_ALL}",
                best=pick(known, key=known.__getitem__),
            ),
        )
    fastest = holds(
        "RAMP is the fastest system at every operation",
        "yes",
        f"{min(gain.values()):.1f}X to {max(gain.values()):.1f}X",
        points=above(gain, 1)
        + above({f"{op}, best": times for op, times in known.items()}, 1),
        why=NOT_PRINTED,
        best=f"{min(known.values()):.1f}X to {max(known.values()):.1f}X",
    )
    yield from (ends[0], fastest, *ends[1:])
    yield _adding_up(size_bytes)


def _adding_up(size_bytes: int) -> Comparison:
    """Compare the time of sums in a reduce-scatter with that on the fat tree."""
    scatter, fat_tree = LEAST[0], as_published()[0]
    mine_ps, *theirs_ps = (
        timed.time.compute_ps
        for timed in (
            on_ramp(scatter, size_bytes),
            on_rival_as_printed(fat_tree, scatter, size_bytes),
            best_on(fat_tree, scatter, size_bytes),
        )
    )
    faster, known_faster = (float(other_ps / mine_ps) for other_ps in theirs_ps)
    return near(
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
            only=tuple(name + ending for name in (*RIVALS, RAMP)),
            names=lambda name: title_of(name.removesuffix(AS_PRINTED)),
            kind="dots",
            y_log=10,
            shown=lambda us: rounded(us / 1000),
        )
        yield from plot(data)


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
            for timed, times in _timed(op, size_bytes, nets, bits_per_s):
                yield rate, op, timed.system, timed.label, timed.us, times


def _gains_by_rate(data: Data, ending: str) -> Gains:
    """Return times over RAMP's, of all systems with one ending."""
    return {
        (rate, *key): times
        for rate in data.sizes("gbit_per_s")
        for key, times in _gains(data.where(gbit_per_s=rate), ending).items()
    }


def _least_by_rate(gain: Gains) -> dict[tuple[float, str], float]:
    """Return the least speed-up over any rival, by rate and operation."""
    return {
        (rate, op): min(gain[rate, op, name] for name in RIVALS)
        for rate, op in dict.fromkeys((rate, op) for rate, op, _ in gain)
    }


def _fig19_claims(data: Data) -> Iterator[Comparison]:
    rates = data.sizes("gbit_per_s")
    gain, known = _gains_by_rate(data, AS_PRINTED), _gains_by_rate(data, "")
    best, best_known = _least_by_rate(gain), _least_by_rate(known)
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
            if op != "all-to-all"
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


FIGURE = figures(
    __package__,
    ("ramp-fig18", _fig18_rows, _fig18_claims, _fig18_panels),
    ("ramp-fig19", _fig19_rows, _fig19_claims, _fig19_panels),
)
