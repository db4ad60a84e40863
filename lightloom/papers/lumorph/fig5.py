"""LUMORPH Fig. 5: how many circuits share an edge, and waveguides that suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds
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
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison

ALGORITHMS = ("lumorph-2", "lumorph-4")
CURVES = tuple((name, router) for name in ALGORITHMS for router in ROUTERS)
Overlaps = dict[tuple[int, str, str], tuple[int, int]]
"""By (GPUs, algorithm, router): overlap of whole rounds, and of one wavelength."""

_PAPER_ENOUGH = 30


@dataclass(frozen=True)
class Fig5:
    """The figure, over some rack sizes."""

    sizes: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    name: str = "lumorph-fig5"
    title: str = "circuits that share an edge, random against minimum-congestion routes"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Route every distinct round of every size."""
        found: Overlaps = {}
        for gpus in self.sizes:
            for algorithm, router in CURVES:
                progress(f"{gpus} GPUs, {algorithm}, {router}")
                found[gpus, algorithm, router] = _overlaps(gpus, algorithm, router)
        columns = (
            "gpus",
            "algorithm",
            "router",
            "overlap_routes",
            "overlap_routes_per_wavelength",
        )
        rows = tuple((*key, *values) for key, values in found.items())
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(found)),
            _NOTES,
            self._panels(found),
        )

    def _claims(self, found: Overlaps) -> Iterator[Comparison]:
        first, last = self.sizes[0], self.sizes[-1]
        ends = ", ".join(
            f"{name} {router} {found[first, name, router][0]} to"
            f" {found[last, name, router][0]}"
            for name, router in CURVES
        )
        yield holds(
            f"overlaps grow with the rack for both routers ({first} to {last} GPUs)",
            "all four grow",
            ends,
            holds=all(found[last, *c][0] > found[first, *c][0] for c in CURVES),
            why="two racks of these sizes are too alike",
        )
        worse = [
            found[last, name, RANDOM][0] / found[last, name, MIN_CONGESTION][0]
            for name in ALGORITHMS
        ]
        yield holds(
            f"random shortest paths do significantly worse ({last} GPUs)",
            "worse, by how much is not given",
            " and ".join(f"{ratio:.2g} times" for ratio in worse) + " the overlap",
            holds=min(worse) > 1,
            why="the random choice was lucky on so small a rack",
        )
        yield holds(
            f"quadrupling overlaps more than doubling ({last} GPUs)",
            "more with both routers",
            ", ".join(
                f"{router}: {found[last, ALGORITHMS[1], router][0]} against"
                f" {found[last, ALGORITHMS[0], router][0]}"
                for router in ROUTERS
            ),
            holds=all(
                found[last, ALGORITHMS[1], router][0]
                > found[last, ALGORITHMS[0], router][0]
                for router in ROUTERS
            ),
            why="more peers at once need not share an edge",
        )
        enough = max(found[last, *curve][0] for curve in CURVES)
        yield holds(
            f"{_PAPER_ENOUGH} waveguides remove all congestion ({last} GPUs)",
            f"{_PAPER_ENOUGH} for all algorithms",
            f"{enough}; {self._fewest(found, last)} with minimum-congestion routes",
            holds=enough <= _PAPER_ENOUGH,
            why=_WHY_RANDOM,
        )

    @staticmethod
    def _fewest(found: Overlaps, gpus: int) -> int:
        return max(found[gpus, name, MIN_CONGESTION][0] for name in ALGORITHMS)

    def _panels(self, found: Overlaps) -> tuple[Panel, ...]:
        last = self.sizes[-1]
        style = {RANDOM: "--", MIN_CONGESTION: "-"}
        left = [
            Series(
                f"{name}, {router}",
                self.sizes,
                [found[gpus, name, router][0] for gpus in self.sizes],
                "--" if style[router] == "--" else "-",
                colour,
            )
            for colour, (name, router) in enumerate(CURVES)
        ]
        most = max(found[last, *curve][0] for curve in CURVES)
        waveguides = list(range(0, most + 5, max(1, most // 16)))
        right = [
            Series(
                f"{name}, {router}",
                waveguides,
                [max(0, found[last, name, router][0] - w) for w in waveguides],
                "--" if style[router] == "--" else "-",
                colour,
            )
            for colour, (name, router) in enumerate(CURVES)
        ]
        ticks = [(gpus, str(gpus)) for gpus in self.sizes]
        return (
            Panel(
                "overlap during an all-reduce",
                "GPUs",
                "routes on the fullest directed edge",
                left,
                x_log=2,
                x_ticks=ticks,
            ),
            Panel(
                f"congestion, {last} GPUs",
                "waveguides per directed edge",
                "routes without a waveguide",
                right,
                marks=(Mark("paper: enough", x=_PAPER_ENOUGH),),
            ),
        )


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


def _overlaps(gpus: int, algorithm: str, router: str) -> tuple[int, int]:
    """Return the largest overlap of a round, and of one partial permutation."""
    fabric = lightpath(gpus)
    every = rounds(algorithm, gpus)
    whole = distinct([joined(lanes) for lanes in every])
    lanes = distinct([lane for lanes in every for lane in lanes])
    return (
        max(overlap(fabric, requests, router) for requests in whole),
        max(overlap(fabric, requests, router) for requests in lanes),
    )


FIGURE = Fig5()
