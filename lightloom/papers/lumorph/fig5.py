"""LUMORPH Fig. 5: how many circuits share an edge, and waveguides that suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import above, between, holds, rising
from lightloom.papers.lumorph.rack import lightpath
from lightloom.papers.lumorph.round_requests import (
    CANDIDATES,
    MIN_CONGESTION,
    RANDOM,
    ROUTERS,
    distinct,
    joined,
    overlap,
    rounds,
)
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell
    from lightloom.report.panel import LineStyle

ALGORITHMS = ("lumorph-2", "lumorph-4")
CURVES = tuple((name, router) for name in ALGORITHMS for router in ROUTERS)

_PAPER_ENOUGH = 30


def _compute(
    tell: Tell, *, sizes: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
) -> Iterator[Row]:
    """Route every distinct round: the largest overlap, and that of one permutation."""
    for gpus in sizes:
        fabric = lightpath(gpus)
        for algorithm, router in CURVES:
            tell(f"{gpus} GPUs, {algorithm}, {router}")
            every = rounds(algorithm, gpus)
            whole = distinct([joined(lanes) for lanes in every])
            lanes = distinct([lane for lanes in every for lane in lanes])
            yield (
                *(gpus, algorithm, router),
                max(overlap(fabric, requests, router) for requests in whole),
                max(overlap(fabric, requests, router) for requests in lanes),
            )


def _curve(data: Data, algorithm: str, router: str) -> list[float]:
    """Return the overlaps of whole rounds by rack size."""
    return data.numbers("overlap_routes", algorithm=algorithm, router=router)


def _claims(data: Data) -> Iterator[Comparison]:
    sizes = data.sizes("gpus")
    first, *_, last = sizes
    found = {
        curve: dict(zip(sizes, _curve(data, *curve), strict=True)) for curve in CURVES
    }
    yield holds(
        f"overlaps grow with the rack for both routers ({first} to {last} GPUs)",
        "all four grow",
        ", ".join(
            f"{name} {router} {' '.join(map(str, overlaps.values()))}"
            for (name, router), overlaps in found.items()
        ),
        points=(
            point
            for curve, overlaps in found.items()
            for point in rising(
                {(*curve, gpus): overlap for gpus, overlap in overlaps.items()}
            )
        ),
        why="the next larger rack is a rectangle where this one is a square",
    )
    worse = {
        (name, gpus): found[name, RANDOM][gpus] / found[name, MIN_CONGESTION][gpus]
        for name in ALGORITHMS
        for gpus in sizes
    }
    yield holds(
        "random shortest paths do significantly worse (every size)",
        "worse, by how much is not given",
        ", ".join(
            f"{name} {' '.join(f'{worse[name, gpus]:.2g}X' for gpus in sizes)}"
            for name in ALGORITHMS
        ),
        points=above(worse, 1),
        why="on the smallest racks there is hardly a choice of paths",
    )
    two, four = ALGORITHMS
    more = {
        (router, gpus): found[four, router][gpus] / found[two, router][gpus]
        for router in ROUTERS
        for gpus in sizes
    }
    yield holds(
        "quadrupling overlaps more than doubling (every size)",
        "more with both routers",
        ", ".join(
            f"{router} {' '.join(f'{more[router, gpus]:.2g}X' for gpus in sizes)}"
            for router in ROUTERS
        ),
        points=above(more, 1),
        why="more peers at once need not share an edge",
    )
    every = {
        (*curve, gpus): overlap
        for curve, overlaps in found.items()
        for gpus, overlap in overlaps.items()
    }
    fewest = max(found[name, MIN_CONGESTION][last] for name in ALGORITHMS)
    yield holds(
        f"{_PAPER_ENOUGH} waveguides remove all congestion (up to {last} GPUs)",
        f"{_PAPER_ENOUGH} for all algorithms",
        f"{max(every.values())}; {fewest} with minimum-congestion routes",
        points=between(every, most=_PAPER_ENOUGH),
        why=_WHY_RANDOM,
    )


def _panels(data: Data) -> Iterator[Panel]:
    sizes = data.sizes("gpus")
    found = {curve: _curve(data, *curve) for curve in CURVES}
    most = int(max(overlaps[-1] for overlaps in found.values()))
    waveguides = list(range(0, most + 5, max(1, most // 16)))
    overlap_lines, lacking_lines = [], []
    for colour, ((name, router), overlaps) in enumerate(found.items()):
        label, style = f"{name}, {router}", _STYLES[router]
        overlap_lines.append(Series(label, sizes, overlaps, style, colour))
        lacking = [max(0, overlaps[-1] - count) for count in waveguides]
        lacking_lines.append(Series(label, waveguides, lacking, style, colour))
    yield Panel(
        "overlap during an all-reduce",
        "GPUs",
        "routes on the fullest directed edge",
        overlap_lines,
        x_log=2,
        x_ticks=[(gpus, str(gpus)) for gpus in sizes],
    )
    yield Panel(
        f"congestion, {sizes[-1]} GPUs",
        "waveguides per directed edge",
        "routes without a waveguide",
        lacking_lines,
        marks=(Mark("paper: enough", x=_PAPER_ENOUGH),),
    )


_STYLES: dict[str, LineStyle] = {RANDOM: "--", MIN_CONGESTION: "-"}
_WHY_RANDOM = (
    f"our random router chooses among the {CANDIDATES} shortest simple paths; the"
    " paper does not say among how many it chooses"
)
_NOTES = (
    (
        "overlap_routes counts every route, as the paper does. Peers of one round use"
        " different wavelengths, which share a waveguide:"
        " overlap_routes_per_wavelength is the number of waveguides truly needed."
    ),
    (
        f"random: one of the {CANDIDATES} shortest simple paths by Yen's algorithm,"
        " with seed 0. minimum-congestion: Algorithm 2 by negotiated routing, checked"
        " against cuts. Ranks on tiles in row-major order."
    ),
)


FIGURE = Figure(
    name="lumorph-fig5",
    takes_s=3,
    title="circuits that share an edge, random against minimum-congestion routes",
    columns=(
        *("gpus", "algorithm", "router", "overlap_routes"),
        "overlap_routes_per_wavelength",
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
