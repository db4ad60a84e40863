"""LUMORPH Fig. 6: reconfigurations of an all-reduce with 20 and 40 waveguides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.units import MIB
from lightloom.papers.claims import holds
from lightloom.papers.lumorph.rack import lightpath, measure
from lightloom.papers.lumorph.round_requests import (
    CANDIDATES,
    RANDOM,
    ROUTERS,
    joined,
    pieces,
    rounds,
)
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightloom.papers.reproduction import Comparison

_PAPERS = ("lumorph-2", "lumorph-4")
_OURS = ("multiport", "auto")


@dataclass(frozen=True)
class Point:
    """An all-reduce with few waveguides.

    Attributes
    ----------
    waveguides, algorithm, router
        What was asked.
    paper_rule
        Reconfigurations if every route takes a waveguide for itself and every
        round is charged; ``None`` for algorithms that the paper does not have.
    reconfigurations, completion_time_us
        What replay says of a schedule whose circuits share waveguides by
        wavelength.
    """

    waveguides: int
    algorithm: str
    router: str
    paper_rule: int | None
    reconfigurations: int
    completion_time_us: float


@dataclass(frozen=True)
class Fig6:
    """The figure for one rack and buffer, over some numbers of waveguides."""

    gpus: int = 256
    buffer_bytes: int = 64 * MIB
    waveguides: tuple[int, ...] = (20, 40)
    name: str = "lumorph-fig6"
    title: str = "reconfigurations of an all-reduce with 20 and 40 waveguides"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Split rounds by the paper's rule, and synthesise and replay ours."""
        points = []
        for count in self.waveguides:
            for algorithm in (*_PAPERS, *_OURS):
                for router in ROUTERS:
                    progress(f"{count} waveguides, {algorithm}, {router}")
                    points.append(self._point(count, algorithm, router))
        columns = (
            "waveguides",
            "algorithm",
            "router",
            "reconfigurations_paper_rule",
            "reconfigurations",
            "time_us",
        )
        rows = tuple(
            (
                point.waveguides,
                point.algorithm,
                point.router,
                point.paper_rule,
                point.reconfigurations,
                point.completion_time_us,
            )
            for point in points
        )
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(points)),
            _NOTES,
            tuple(self._panels(points)),
        )

    def _point(self, count: int, algorithm: str, router: str) -> Point:
        fabric = lightpath(self.gpus, waveguides=count, fibers=count)
        paper_rule = None
        if algorithm in _PAPERS:
            paper_rule = sum(
                pieces(fabric, joined(lanes), router, count)
                for lanes in rounds(algorithm, self.gpus)
            )
        measured = measure(fabric, self.buffer_bytes, algorithm, router=router)
        return Point(
            count,
            algorithm,
            router,
            paper_rule,
            measured.reconfigurations,
            measured.completion_time_us,
        )

    def _claims(self, points: list[Point]) -> Iterator[Comparison]:
        papers = [point for point in points if point.algorithm in _PAPERS]
        charged = [point.paper_rule for point in papers]
        yield self._claim("paper's rule", papers, charged, "every round fits")
        held = [point.reconfigurations for point in papers]
        yield self._claim("ours", papers, held, "wavelengths share waveguides")

    def _claim(
        self, rule: str, points: list[Point], counts: Sequence[int | None], why: str
    ) -> Comparison:
        """Compare the counts with the fewest and with the most waveguides."""
        few, many = self.waveguides[0], self.waveguides[-1]
        found = {
            (point.waveguides, point.algorithm, point.router): count or 0
            for point, count in zip(points, counts, strict=True)
        }
        curves = [key[1:] for key in found if key[0] == few]
        changes = [(found[few, *curve], found[many, *curve]) for curve in curves]
        more = sum(with_few > with_many for with_few, with_many in changes)
        text = ", ".join(
            f"{' '.join(curve)} {with_few} against {with_many}"
            for curve, (with_few, with_many) in zip(curves, changes, strict=True)
        )
        return holds(
            f"fewer waveguides, more reconfigurations ({rule})",
            f"many more with {few} than with {many}",
            f"more in {more} of {len(curves)}: {text}",
            holds=more > 0 and all(a >= b for a, b in changes),
            why=why,
        )

    def _panels(self, points: list[Point]) -> Iterator[Panel]:
        for count in self.waveguides:
            mine = [
                point
                for point in points
                if point.waveguides == count and point.algorithm in _PAPERS
            ]
            names = [
                point.algorithm
                + ("\nrandom" if point.router == RANDOM else "\nmin-cong.")
                for point in mine
            ]
            yield Panel(
                f"{count} waveguides per directed edge, {self.gpus} GPUs",
                "",
                "reconfigurations",
                [
                    Series(
                        "paper's rule: a route takes a waveguide",
                        names,
                        [point.paper_rule or 0 for point in mine],
                    ),
                    Series(
                        "replay: wavelengths share waveguides",
                        names,
                        [point.reconfigurations for point in mine],
                    ),
                ],
                kind="bars",
            )


_NOTES = (
    (
        "reconfigurations_paper_rule: every route takes a waveguide of each edge for"
        " itself, a round that lacks waveguides is split in halves until all fit, and"
        " every round is charged. reconfigurations: circuits of different wavelengths"
        " share a waveguide, and a plane pays only for what it does not hold."
    ),
    (
        f"random: one of the {CANDIDATES} shortest simple paths, seed 0. Fibres between"
        " wafers are as many as waveguides."
    ),
)


FIGURE = Fig6()
