"""RAMP Fig. 15: steps of a reduce-scatter against the number of nodes."""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    below,
    between,
    falling,
    holds,
)
from lightloom.papers.ramp.baseline_networks import fat_tree
from lightloom.papers.ramp.baseline_strategies import STRATEGIES, plans
from lightloom.papers.ramp.compared_systems import NODES, TERABIT, ramp, title_of
from lightloom.papers.ramp.ramp_estimate import boxes
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

OP = "reduce-scatter"
_COLUMNS = {name: name.replace("-", "_") for name in (*STRATEGIES, "ramp")}
"""Columns of the strategies."""

SIZES = tuple(2**k for k in range(1, 17))


def _compute(tell: Tell, *, sizes: tuple[int, ...] = SIZES) -> Iterator[Row]:
    """Yield the fewest steps of every strategy, for powers of two of nodes."""
    for nodes in sizes:
        tell(f"{nodes} nodes")
        counts: dict[str, int] = {}
        for plan in plans(fat_tree(TERABIT, TERABIT).part(nodes), OP, 2**20):
            taken = sum(run.steps for run in plan.runs)
            counts[plan.strategy] = min(taken, counts.get(plan.strategy, taken))
        counts["ramp"] = len(next(boxes(ramp(), nodes)).steps)
        yield nodes, *(counts.get(name) for name in _COLUMNS)


def _claims(data: Data) -> Iterator[Comparison]:
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


def _panels(data: Data) -> Iterator[Panel]:
    series = []
    for name, column in _COLUMNS.items():
        curve = data.curve("nodes", column)
        series.append(Series(title_of(name), list(curve), list(curve.values())))
    yield Panel(
        "reduce-scatter",
        "nodes",
        "steps",
        series,
        x_log=2,
        y_log=10,
        x_ticks=[
            (nodes, str(nodes))
            for nodes in (2, 16, 128, 1024, 8192, NODES)
            if nodes in data.sizes("nodes")
        ],
    )


_NOTES = (
    (
        "ring: N - 1 steps; 2D torus: a + b - 2 for the factors a b = N nearest to each"
        " other; hierarchical: the sum of d - 1 over tiers of 8, 16, 16 and 32; RAMP:"
        " one for each dimension in which nodes differ."
    ),
    "The paper prints the curves alone; the values of its points are not printed.",
)

FIGURE = Figure(
    name="ramp-fig15",
    title="steps of a reduce-scatter by strategy and number of nodes",
    columns=("nodes", *_COLUMNS.values()),
    compute=_compute,
    claims=_claims,
    panels=_panels,
    notes=_NOTES,
)
