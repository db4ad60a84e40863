"""LUMORPH Fig. 6: reconfigurations of an all-reduce with 20 and 40 waveguides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import MIB
from lightloom.papers.claims import (
    above,
    holds,
)
from lightloom.papers.lumorph.rack import lightpath, measure
from lightloom.papers.lumorph.round_requests import (
    CANDIDATES,
    RANDOM,
    ROUTERS,
    joined,
    pieces,
    rounds,
)
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

_PAPERS = ("lumorph-2", "lumorph-4")
_OURS = ("multiport", "auto")
_CURVES = tuple((name, router) for name in _PAPERS for router in ROUTERS)


def _compute(
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
                found = measure(fabric, buffer_bytes, algorithm, router=router)
                yield (
                    *(count, algorithm, router, paper_rule),
                    *(found.reconfigurations, found.completion_time_us),
                )


def _claims(data: Data) -> Iterator[Comparison]:
    few, *_, many = data.sizes("waveguides")
    for rule, column, why in (
        (
            "paper's rule",
            "reconfigurations_paper_rule",
            "where the numbers are equal, every round has a waveguide for each route",
        ),
        (
            "ours",
            "reconfigurations",
            "circuits of different wavelengths share waveguides",
        ),
    ):
        changes = [
            [
                data.number(column, waveguides=count, algorithm=name, router=router)
                for count in (few, many)
            ]
            for name, router in _CURVES
        ]
        more = sum(with_few > with_many for with_few, with_many in changes)
        text = ", ".join(
            f"{' '.join(curve)} {with_few} against {with_many}"
            for curve, (with_few, with_many) in zip(_CURVES, changes, strict=True)
        )
        yield holds(
            f"fewer waveguides, more reconfigurations ({rule})",
            f"many more with {few} than with {many}",
            f"more in {more} of {len(_CURVES)}: {text}",
            points=above(
                {
                    curve: with_few / with_many
                    for curve, (with_few, with_many) in zip(
                        _CURVES, changes, strict=True
                    )
                },
                1,
            ),
            why=why,
        )


def _panels(data: Data) -> Iterator[Panel]:
    names = [
        f"{name}\n{'random' if router == RANDOM else 'min-cong.'}"
        for name, router in _CURVES
    ]
    for count in data.sizes("waveguides"):
        series = [
            Series(
                label,
                names,
                [
                    data.number(column, waveguides=count, algorithm=name, router=router)
                    for name, router in _CURVES
                ],
            )
            for label, column in (
                (
                    "paper's rule: a route takes a waveguide",
                    "reconfigurations_paper_rule",
                ),
                ("replay: wavelengths share waveguides", "reconfigurations"),
            )
        ]
        yield Panel(
            f"{count} waveguides per directed edge, {data.given['gpus']} GPUs",
            "",
            "reconfigurations",
            series,
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


FIGURE = Figure(
    name="lumorph-fig6",
    takes_s=26,
    title="reconfigurations of an all-reduce with 20 and 40 waveguides",
    columns=(
        *("waveguides", "algorithm", "router", "reconfigurations_paper_rule"),
        *("reconfigurations", "time_us"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
