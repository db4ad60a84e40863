"""RAMP Fig. 8: the subgroups of the four steps on 54 nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.claims import (
    between,
    fact,
    holds,
)
from lightloom.papers.reproduction import Figure
from lightloom.programs.ramp_nic import check_operation, operation
from lightloom.report.panel import Panel, Series
from lightloom.synth.ramp.participants import STEPS, Shape
from lightloom.synth.ramp.transceivers import per_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

PRINTED = (18, 18, 18, 27)
"""Subgroups by step, from Table 5: Lambda J, Lambda J, Lambda x, J x^2."""
_SHOWN = 3


def _compute(tell: Tell, *, sizes: tuple[int, int, int] = (3, 3, 6)) -> Iterator[Row]:
    """Yield the subgroups of every step for (groups, racks, numbers)."""
    tell("subgroups")
    for step in STEPS:
        of = _subgroups(Shape(*sizes), step)
        for number in np.unique(of).tolist():
            nodes = np.flatnonzero(of == number).tolist()
            yield step, number, " ".join(map(str, nodes))


def _subgroups(shape: Shape, step: int) -> IntArray:
    """Return the subgroup of each node in a step."""
    places = shape.places_of(np.arange(shape.size, dtype=np.int64))
    return shape.subgroup(step, places)


def _claims(data: Data) -> Iterator[Comparison]:
    shape = Shape(*data.given["sizes"])
    fabric = Ramp(groups=shape.groups, racks=shape.racks, nodes_per_rack=shape.numbers)
    job = operation(fabric, "reduce-scatter", range(shape.size))
    report = check_operation(job)
    counts = tuple(len(np.unique(_subgroups(shape, step))) for step in STEPS)
    yield holds(
        "subgroups by step (Table 5)",
        ", ".join(map(str, PRINTED)),
        ", ".join(map(str, counts)),
        points=between(
            {
                f"step {step}": count - printed
                for step, count, printed in zip(STEPS, counts, PRINTED, strict=False)
            },
            least=0,
            most=0,
        ),
        why="another network than the paper's",
    )
    yield holds(
        "every node ends with one part of all nodes' sums, and nothing contends",
        "yes",
        f"{report.circuits} circuits, {report.followed} of {report.chunks} chunks"
        f" followed, {len(report.violations)} violations",
        points=between({"violations": len(report.violations)}, most=0)
        + fact("valid", so=report.valid),
        why="a rule is broken",
    )
    used = [
        (shape.members(step) - 1) * per_pair(shape.groups, shape, step)
        for step in STEPS
    ]
    x = shape.groups
    yield holds(
        "transceivers in use by step",
        f"{x - 1}, {x - 1}, {x - 1}, {x}",
        ", ".join(map(str, used)),
        points=between(
            {
                f"step {step}": count - wanted
                for step, count, wanted in zip(
                    STEPS, used, (x - 1, x - 1, x - 1, x), strict=True
                )
            },
            least=0,
            most=0,
        ),
        why="racks of a group share subnets: with more for each pair of step 4,"
        " circuits of different racks collide",
    )


def _panels(data: Data) -> Iterator[Panel]:
    """Yield the pairs of each step as a matrix, three subgroups in colour."""
    for step in STEPS:
        of = _subgroups(Shape(*data.given["sizes"]), step)
        pairs = (of[:, None] == of[None, :]) & ~np.eye(len(of), dtype=bool)
        src, dst = np.nonzero(pairs)
        shown = np.isin(of[src], np.unique(of)[:_SHOWN])
        series = [
            Series(label, src[some].tolist(), dst[some].tolist(), "", colour)
            for label, some, colour in (
                ("pair", ~shown, 5),
                (f"pair of the first {_SHOWN} subgroups", shown, 1),
            )
        ]
        yield Panel(f"step {step}", "source", "destination", series)


_NOTES = (
    (
        "Node (g, j, lam) is number (g J + j) Lambda + lam. Subgroups are those of"
        " Table 5, corrected in docs/spec/errata.md; step 4 is the second of its two"
        " formulas."
    ),
)

FIGURE = Figure(
    name="ramp-fig8",
    title="who exchanges with whom in each step, 54 nodes",
    columns=("step", "subgroup", "nodes"),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
