"""RAMP Fig. 22: head-to-tail over head-to-head time of an all-reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import (
    above,
    below,
    between,
    holds,
)
from lightloom.papers.ramp.all_reduce_sweep import BUFFERS, SIZES, against_nodes, sweep
from lightloom.papers.ramp.baseline_strategies import HIERARCHICAL, RING
from lightloom.papers.ramp.compared_systems import ESTIMATED, size_text
from lightloom.papers.reproduction import Figure
from lightloom.report.panel import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

NEGLIGIBLE = 10
"""Ratio above which the paper calls head-to-head time negligible."""


def _compute(
    tell: Tell, *, nodes: tuple[int, ...] = SIZES, buffers: tuple[int, ...] = BUFFERS
) -> Iterator[Row]:
    """Estimate every strategy for numbers of nodes and sizes of the buffer."""
    for count, size, found in sweep(nodes, buffers, tell):
        for system, timed in found.items():
            ratio = float(timed.time.head_to_tail_ps / timed.time.head_to_head_ps)
            yield count, size_text(size), system, timed.label, ratio


def _claims(data: Data) -> Iterator[Comparison]:
    first, *_, last = data.sizes("nodes")
    large = data.names("buffer")[-1]
    mine = data.numbers("h2t_over_h2h", buffer=large, system="ramp")
    yield holds(
        f"RAMP keeps its ratio with the nodes ({large})",
        "approximately constant",
        f"{min(mine):.3g} to {max(mine):.3g}",
        points=between({"greatest over least": max(mine) / min(mine)}, most=NEGLIGIBLE),
        why="head-to-head time grows from 2 to 8 steps",
    )
    at_end = data.where(nodes=last, buffer=large)
    ends = dict(
        zip(at_end.names("system"), at_end.numbers("h2t_over_h2h"), strict=True)
    )
    yield holds(
        f"hierarchical and RAMP stay above {NEGLIGIBLE}, the others do not"
        f" ({large}, {last} nodes)",
        "hierarchical, ramp",
        ", ".join(f"{system} {value:.3g}" for system, value in ends.items()),
        points=above({name: ends[name] for name in (HIERARCHICAL, "ramp")}, NEGLIGIBLE)
        + between(
            {
                name: value
                for name, value in ends.items()
                if name not in (HIERARCHICAL, "ramp")
            },
            most=NEGLIGIBLE,
        ),
        why="the fewest steps of a 2D torus are few beside so much data",
    )
    before, after = (
        data.numbers("h2t_over_h2h", nodes=nodes, system=RING)
        for nodes in (first, last)
    )
    falls = [early / late for early, late in zip(before, after, strict=True)]
    yield holds(
        "ring falls with the nodes, alike for every size",
        "yes",
        ", ".join(f"{times:,.0f}X" for times in falls),
        points=above(dict(enumerate(falls)), 1)
        + below({"greatest over least": max(falls) / min(falls)}, 1.01),
        why="it does not",
    )


_NOTE = (
    "2.4 Tb/s a node everywhere. Above 1 an operation spends more time on data than on"
    " latency. The paper prints curves alone."
)

FIGURE = Figure(
    name="ramp-fig22",
    title="head-to-tail over head-to-head time of an all-reduce",
    columns=("nodes", "buffer", "system", "strategy", "h2t_over_h2h"),
    compute=_compute,
    claims=_claims,
    panels=against_nodes(
        "h2t_over_h2h",
        "head to tail / head to head",
        Mark("latency negligible above", y=NEGLIGIBLE),
    ),
    notes=(ESTIMATED, _NOTE),
)
