"""LUMORPH Figs 3, 5 and 6: rounds as route requests, and routes that share an edge."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.core.units import MIB
from lightloom.papers.claims import above, between, holds, rising
from lightloom.papers.lumorph.rack import lightpath, measure
from lightloom.papers.reproduction import Plot, figures
from lightloom.plans.algorithms import make_algorithm
from lightloom.report.panel import Mark, Panel, Series
from lightloom.routing.graph import edge_loads
from lightloom.routing.minimum_congestion import minimum_congestion
from lightloom.routing.routes import random_shortest
from lightloom.synth.chunking import choose_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell
    from lightloom.report.panel import LineStyle

RANDOM, MIN_CONGESTION = "random", "minimum-congestion"
ROUTERS = (RANDOM, MIN_CONGESTION)
CANDIDATES = 4
"""Shortest paths among which ``random`` chooses, by Yen's algorithm."""

Requests = tuple["IntArray", "IntArray"]
"""(sources, destinations), one row a request."""


def rounds(algorithm: str, gpus: int, lasers: int = 16) -> list[list[Requests]]:
    """Return the rounds of an all-reduce, ranks on tiles in row-major order.

    Each round is a list of partial permutations, one for each simultaneous peer:
    a request is a pair of tiles that talk in that round.
    """
    collective = Collective("all-reduce", tuple(range(gpus)), 2**20 * gpus)
    maker = make_algorithm(algorithm, {}, op=collective.op)
    chunked = choose_chunks(collective, maker.granularity(gpus, lasers))
    lanes_by_round = []
    for round_ in maker.plan(chunked, lasers).rounds:
        lanes = []
        for port in np.unique(round_.port).tolist():
            rows = round_.port == port
            pairs = np.unique(np.stack([round_.src[rows], round_.dst[rows]]), axis=1)
            lanes.append((pairs[0], pairs[1]))
        lanes_by_round.append(lanes)
    return lanes_by_round


def joined(lanes: Sequence[Requests]) -> Requests:
    """Return the requests of several partial permutations as one list."""
    src = np.concatenate([lane[0] for lane in lanes])
    dst = np.concatenate([lane[1] for lane in lanes])
    return src, dst


def distinct(requests: Sequence[Requests]) -> list[Requests]:
    """Return the distinct request lists, each the first time it occurs."""
    kept: dict[bytes, Requests] = {}
    for src, dst in requests:
        order = np.lexsort((dst, src))
        kept.setdefault(src[order].tobytes() + dst[order].tobytes(), (src, dst))
    return list(kept.values())


def overlap(fabric: Lightpath, requests: Requests, router: str) -> int:
    """Return the routes on the fullest directed edge when requests are routed."""
    src, dst = requests
    if router == MIN_CONGESTION:
        return minimum_congestion(fabric, src, dst).congestion
    route = random_shortest(fabric, src, dst, candidates=CANDIDATES, seed=0)
    return int(edge_loads(fabric, route).max(initial=0))


def pieces(fabric: Lightpath, requests: Requests, router: str, waveguides: int) -> int:
    """Return into how many rounds a round falls under the paper's rule.

    Every route takes a waveguide of each of its edges for itself. A round whose
    fullest edge has too few is split in two halves, which are routed anew, and so
    on (the paper's appendix C).
    """
    src, dst = requests
    if overlap(fabric, requests, router) <= waveguides or len(src) == 1:
        return 1
    half = len(src) // 2
    return pieces(fabric, (src[:half], dst[:half]), router, waveguides) + pieces(
        fabric, (src[half:], dst[half:]), router, waveguides
    )


_PAPER_SIZE, _PAPER_LEAST_S = 128, 10.0
"""GPUs, and seconds of its solver, as printed."""
PATTERNS = ("lumorph-2", "lumorph-4", "permutation", "all-to-all")


def _fig3_rows(
    tell: Tell,
    *,
    sizes: tuple[int, ...] = (8, 16, 32, 64, 128, 256),
    repeats: int = 3,
) -> Iterator[Row]:
    """Time every pattern on every size, the best of a few repeats."""
    for gpus in sizes:
        for pattern in PATTERNS:
            tell(f"{gpus} GPUs, {pattern}")
            yield _timed(gpus, pattern, repeats if pattern != "all-to-all" else 1)


def _timed(gpus: int, pattern: str, repeats: int) -> Row:
    """Route the distinct rounds of a pattern, and return the totals."""
    fabric = lightpath(gpus)
    requests = pattern_requests(pattern, gpus)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        routings = [minimum_congestion(fabric, src, dst) for src, dst in requests]
        best = min(best, time.perf_counter() - start)
    congestion = max(routing.congestion for routing in routings)
    bound = max(routing.bound for routing in routings)
    return (
        *(gpus, pattern, len(requests), sum(len(src) for src, _ in requests)),
        *(best, congestion, bound, "yes" if congestion == bound else "no"),
    )


def pattern_requests(pattern: str, gpus: int) -> list[Requests]:
    """Return the distinct rounds of a pattern as requests."""
    node = np.arange(gpus, dtype=np.int64)
    if pattern == "all-to-all":
        src, dst = np.repeat(node, gpus), np.tile(node, gpus)
        return [(src[src != dst], dst[src != dst])]
    if pattern == "permutation":
        dst = np.random.default_rng(0).permutation(node)
        return [(node[node != dst], dst[node != dst])]
    return distinct([joined(lanes) for lanes in rounds(pattern, gpus)])


def _fig3_claims(data: Data) -> Iterator[Comparison]:
    """Yield the paper's time for 128 nodes beside ours."""
    ours = data.where(gpus=_PAPER_SIZE)
    if ours.rows:
        slowest = max(ours.numbers("seconds"))
        at = ours.where(seconds=slowest)
        yield holds(
            "Algorithm 2 takes tens of seconds up to 128 nodes",
            f"{_PAPER_LEAST_S:g} s or more",
            f"{slowest:.3g} s at most ({at.names('pattern')[0]},"
            f" {at.numbers('requests')[0]} requests)",
            points=between({"slowest, in s": slowest}, least=_PAPER_LEAST_S),
            why="negotiated routing with a cut as proof instead of an integer program"
            " in Gurobi; another machine; the paper does not say which requests it"
            " routes",
        )


_PAPERS = ("lumorph-2", "lumorph-4")
_CURVES = tuple((name, router) for name in _PAPERS for router in ROUTERS)

_PAPER_ENOUGH = 30
"""Waveguides, as printed."""


def _fig5_rows(
    tell: Tell, *, sizes: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
) -> Iterator[Row]:
    """Route every distinct round: the largest overlap, and that of one permutation."""
    for gpus in sizes:
        fabric = lightpath(gpus)
        for algorithm, router in _CURVES:
            tell(f"{gpus} GPUs, {algorithm}, {router}")
            every = rounds(algorithm, gpus)
            whole = distinct([joined(lanes) for lanes in every])
            lanes = distinct([lane for lanes in every for lane in lanes])
            yield (
                *(gpus, algorithm, router),
                max(overlap(fabric, requests, router) for requests in whole),
                max(overlap(fabric, requests, router) for requests in lanes),
            )


def _overlaps(data: Data) -> dict[tuple[str, str], dict[float, float]]:
    """Return the overlaps of whole rounds by algorithm and router, then rack size."""
    return {
        (name, router): data.curve(
            "gpus", "overlap_routes", algorithm=name, router=router
        )
        for name, router in _CURVES
    }


_WORSE = (
    (
        "random shortest paths do significantly worse (every size)",
        "worse, by how much is not given",
        {name: ((name, RANDOM), (name, MIN_CONGESTION)) for name in _PAPERS},
        "on the smallest racks there is hardly a choice of paths",
    ),
    (
        "quadrupling overlaps more than doubling (every size)",
        "more with both routers",
        {router: ((_PAPERS[1], router), (_PAPERS[0], router)) for router in ROUTERS},
        "more peers at once need not share an edge",
    ),
)
"""Curves that the paper has above others, by what they have in common, and why not."""


def _fig5_claims(data: Data) -> Iterator[Comparison]:
    overlaps_by_curve = _overlaps(data)
    first, *_, last = sizes = data.sizes("gpus")
    every = {
        (*key, gpus): count
        for key in overlaps_by_curve
        for gpus, count in overlaps_by_curve[key].items()
    }
    yield holds(
        f"overlaps grow with the rack for both routers ({first} to {last} GPUs)",
        "all four grow",
        ", ".join(
            f"{name} {router} {' '.join(map(str, overlaps.values()))}"
            for (name, router), overlaps in overlaps_by_curve.items()
        ),
        points=(
            point
            for key, overlaps in overlaps_by_curve.items()
            for point in rising({(*key, gpus): overlaps[gpus] for gpus in overlaps})
        ),
        why="the next larger rack is a rectangle where this one is a square",
    )
    for claim, paper, pairs, why in _WORSE:
        more = {
            (name, gpus): overlaps_by_curve[worse][gpus]
            / overlaps_by_curve[better][gpus]
            for name, (worse, better) in pairs.items()
            for gpus in sizes
        }
        ours = ", ".join(
            f"{name} {' '.join(f'{more[name, gpus]:.2g}X' for gpus in sizes)}"
            for name in pairs
        )
        yield holds(claim, paper, ours, points=above(more, 1), why=why)
    fewest = max(overlaps_by_curve[name, MIN_CONGESTION][last] for name in _PAPERS)
    yield holds(
        f"{_PAPER_ENOUGH} waveguides remove all congestion (up to {last} GPUs)",
        f"{_PAPER_ENOUGH} for all algorithms",
        f"{max(every.values())}; {fewest} with minimum-congestion routes",
        points=between(every, most=_PAPER_ENOUGH),
        why=f"our random router chooses among the {CANDIDATES} shortest simple paths;"
        " the paper does not say among how many it chooses",
    )


def _fig5_panels(data: Data) -> Iterator[Panel]:
    *_, last = sizes = data.sizes("gpus")
    overlaps_by_curve = _overlaps(data)
    most = int(max(overlaps[last] for overlaps in overlaps_by_curve.values()))
    waveguides = list(range(0, most + 5, max(1, most // 16)))
    overlap_lines, lacking_lines = [], []
    for (name, router), overlaps in overlaps_by_curve.items():
        label, style = f"{name}, {router}", _STYLES[router]
        overlap_lines.append(Series(label, sizes, [*overlaps.values()], style))
        lacking = [max(0, overlaps[last] - count) for count in waveguides]
        lacking_lines.append(Series(label, waveguides, lacking, style))
    yield Panel(
        *("overlap during an all-reduce", "GPUs"),
        *("routes on the fullest directed edge", overlap_lines),
        x_log=2,
        x_ticks=[(gpus, str(gpus)) for gpus in sizes],
    )
    yield Panel(
        *(f"congestion, {last} GPUs", "waveguides per directed edge"),
        *("routes without a waveguide", lacking_lines),
        marks=(Mark("paper: enough", x=_PAPER_ENOUGH),),
    )


_STYLES: dict[str, LineStyle] = {RANDOM: "--", MIN_CONGESTION: "-"}


_OURS = ("multiport", "auto")
_RULES = {
    "paper's rule": (
        "reconfigurations_paper_rule",
        "paper's rule: a route takes a waveguide",
        "where the numbers are equal, every round has a waveguide for each route",
    ),
    "ours": (
        "reconfigurations",
        "replay: wavelengths share waveguides",
        "circuits of different wavelengths share waveguides",
    ),
}
"""Columns of reconfigurations, their labels, and why they may be equal."""


def _fig6_rows(
    tell: Tell,
    *,
    gpus: int = 256,
    buffer_bytes: int = 64 * MIB,
    waveguides: tuple[int, ...] = (20, 40),
) -> Iterator[Row]:
    """Split rounds by the paper's rule, and synthesise and replay ours."""
    for count in waveguides:
        fabric = lightpath(gpus, waveguides=count, fibers=count)
        for algorithm in (*_PAPERS, *_OURS):
            for router in ROUTERS:
                tell(f"{count} waveguides, {algorithm}, {router}")
                paper_rule = None
                if algorithm in _PAPERS:
                    paper_rule = sum(
                        pieces(fabric, joined(lanes), router, count)
                        for lanes in rounds(algorithm, gpus)
                    )
                replayed = measure(fabric, buffer_bytes, algorithm, router=router)
                yield (
                    *(count, algorithm, router, paper_rule),
                    *(replayed.reconfigurations, replayed.completion_time_us),
                )


def _fig6_claims(data: Data) -> Iterator[Comparison]:
    few, *_, many = data.sizes("waveguides")
    for rule, (column, _, why) in _RULES.items():
        with_few, with_many = (
            {
                (name, router): data.number(
                    column, waveguides=count, algorithm=name, router=router
                )
                for name, router in _CURVES
            }
            for count in (few, many)
        )
        more = sum(with_few[curve] > with_many[curve] for curve in _CURVES)
        text = ", ".join(
            f"{' '.join(curve)} {with_few[curve]} against {with_many[curve]}"
            for curve in _CURVES
        )
        yield holds(
            f"fewer waveguides, more reconfigurations ({rule})",
            f"many more with {few} than with {many}",
            f"more in {more} of {len(_CURVES)}: {text}",
            points=above(
                {curve: with_few[curve] / with_many[curve] for curve in _CURVES}, 1
            ),
            why=why,
        )


def _fig6_panels(data: Data) -> Iterator[Panel]:
    names = [
        f"{name}\n{'random' if router == RANDOM else 'min-cong.'}"
        for name, router in _CURVES
    ]
    for count in data.sizes("waveguides"):
        part = data.where(waveguides=count)
        series = [
            Series(
                label,
                names,
                [part.number(column, algorithm=at[0], router=at[1]) for at in _CURVES],
            )
            for column, label, _ in _RULES.values()
        ]
        title = f"{count} waveguides per directed edge, {data.given['gpus']} GPUs"
        yield Panel(title, "", "reconfigurations", series, kind="bars")


FIGURE = figures(
    __package__,
    (
        "lumorph-fig3",
        _fig3_rows,
        _fig3_claims,
        Plot(
            x="gpus",
            y="seconds",
            series="pattern",
            title="minimum-congestion routes",
            x_label="GPUs",
            y_label="time (s)",
            x_log=2,
            y_log=10,
        ),
    ),
    ("lumorph-fig5", _fig5_rows, _fig5_claims, _fig5_panels),
    ("lumorph-fig6", _fig6_rows, _fig6_claims, _fig6_panels),
)
