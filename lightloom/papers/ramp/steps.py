"""RAMP Figs 8 and 15: subgroups of the four steps, and steps of a reduce-scatter."""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.claims import below, between, fact, falling, holds
from lightloom.papers.ramp.rivals import STRATEGIES, fat_tree, plans
from lightloom.papers.ramp.systems import TERABIT, boxes, ramp, title_of
from lightloom.papers.reproduction import Plot, figures
from lightloom.programs.ramp_nic import check_operation, operation
from lightloom.report.panel import Panel, Series
from lightloom.synth.ramp.team import STEPS, Shape, per_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.core.columns import IntArray
    from lightloom.papers.claims import Comparison, Point
    from lightloom.papers.reproduction import Data, Row, Tell

PRINTED_SUBGROUPS = (18, 18, 18, 27)
"""Subgroups by step, from Table 5: Lambda J, Lambda J, Lambda x, J x^2."""
_SHOWN = 3


def _fig8_rows(tell: Tell, *, sizes: tuple[int, int, int] = (3, 3, 6)) -> Iterator[Row]:
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


def _as_many(counts: Iterable[int], wanted: Iterable[int]) -> tuple[Point, ...]:
    """Return points that hold if numbers by step are those that are wanted."""
    differences = (
        count - printed for count, printed in zip(counts, wanted, strict=True)
    )
    named = (f"step {step}" for step in STEPS)
    return between(dict(zip(named, differences, strict=True)), least=0, most=0)


def _fig8_claims(data: Data) -> Iterator[Comparison]:
    shape = Shape(*data.given["sizes"])
    fabric = Ramp(groups=shape.groups, racks=shape.racks, nodes_per_rack=shape.numbers)
    report = check_operation(operation(fabric, "reduce-scatter", range(shape.size)))
    counts = tuple(len(np.unique(_subgroups(shape, step))) for step in STEPS)
    yield holds(
        "subgroups by step (Table 5)",
        ", ".join(map(str, PRINTED_SUBGROUPS)),
        ", ".join(map(str, counts)),
        points=_as_many(counts, PRINTED_SUBGROUPS),
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
    wanted = (shape.groups - 1,) * 3 + (shape.groups,)
    yield holds(
        "transceivers in use by step",
        ", ".join(map(str, wanted)),
        ", ".join(map(str, used)),
        points=_as_many(used, wanted),
        why="racks of a group share subnets: with more for each pair of step 4,"
        " circuits of different racks collide",
    )


def _fig8_panels(data: Data) -> Iterator[Panel]:
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


_OP = "reduce-scatter"
_COLUMNS = {name: name.replace("-", "_") for name in (*STRATEGIES, "ramp")}
"""Columns of the strategies."""

_SIZES = tuple(2**k for k in range(1, 17))


def _fig15_rows(tell: Tell, *, sizes: tuple[int, ...] = _SIZES) -> Iterator[Row]:
    """Yield the fewest steps of every strategy, for powers of two of nodes."""
    for nodes in sizes:
        tell(f"{nodes} nodes")
        counts: dict[str, int] = {}
        for plan in plans(fat_tree(TERABIT, TERABIT).part(nodes), _OP, 2**20):
            taken = sum(run.steps for run in plan.runs)
            counts[plan.strategy] = min(taken, counts.get(plan.strategy, taken))
        counts["ramp"] = len(next(boxes(ramp(), nodes)).steps)
        yield nodes, *(counts.get(name) for name in _COLUMNS)


def _fig15_claims(data: Data) -> Iterator[Comparison]:
    steps = {int(nodes): count for nodes, count in data.curve("nodes", "ramp").items()}
    most = max(steps.values())
    yield holds(
        "RAMP takes at most 4 steps, 8 for all-reduce (conclusion)",
        "4",
        str(most),
        points=between(
            {f"{nodes} nodes": count for nodes, count in steps.items()}, most=4
        ),
        why="a smaller network needs a step for each of its dimensions",
    )
    printed = {nodes: ceil(round(log(nodes, 32), 9)) for nodes in steps}
    off = [nodes for nodes, count in steps.items() if count != printed[nodes]]
    yield holds(
        "RAMP takes log_x(N) steps, rounded up, x = 32 (section 5)",
        "every size",
        f"{len(steps) - len(off)} of {len(steps)} sizes",
        points=between(
            {
                f"{nodes} nodes": count - printed[nodes]
                for nodes, count in steps.items()
            },
            least=0,
            most=0,
        ),
        why=f"not at {off}",
    )
    last = max(steps)
    at_last = data.where(nodes=last)
    *counts, mine = [
        count for column in _COLUMNS.values() for count in at_last.numbers(column)
    ]
    yield holds(
        f"ring, 2D torus, hierarchical, RAMP take ever fewer steps ({last} nodes)",
        "yes",
        " > ".join(map(str, [*counts, mine])),
        points=falling(dict(zip(_COLUMNS, (*counts, mine), strict=False)))
        + below({"ramp": mine}, counts[-1]),
        why="with few nodes, strategies coincide",
    )


FIGURE = figures(
    __package__,
    ("ramp-fig8", _fig8_rows, _fig8_claims, _fig8_panels),
    (
        "ramp-fig15",
        _fig15_rows,
        _fig15_claims,
        Plot(
            x="nodes",
            series={column: title_of(name) for name, column in _COLUMNS.items()},
            title="reduce-scatter",
            x_label="nodes",
            y_label="steps",
            x_log=2,
            y_log=10,
            ticks_every=3,
        ),
    ),
)
