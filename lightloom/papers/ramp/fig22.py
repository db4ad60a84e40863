"""RAMP Fig. 22: head-to-tail over head-to-head time of an all-reduce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds
from lightloom.papers.ramp.baseline_strategies import HIERARCHICAL, RING
from lightloom.papers.ramp.sweep import SIZES, SYSTEMS, sweep, ticks
from lightloom.papers.ramp.systems import (
    ESTIMATED,
    GB,
    MB,
    size_text,
    title_of,
)
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Mark, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison

NEGLIGIBLE = 10
"""Ratio above which the paper calls head-to-head time negligible."""

Ratios = dict[tuple[int, int, str], float]
"""By (nodes, size of the buffer, strategy)."""


@dataclass(frozen=True)
class Fig22:
    """The figure, for some numbers of nodes and sizes of the buffer."""

    nodes: tuple[int, ...] = SIZES
    buffers: tuple[int, ...] = (MB, 100 * MB, 10 * GB)
    name: str = "ramp-fig22"
    title: str = "head-to-tail over head-to-head time of an all-reduce"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Estimate every strategy for every size."""
        points = sweep(self.nodes, self.buffers, progress)
        ratio = {
            key: float(timed.time.head_to_tail_ps / timed.time.head_to_head_ps)
            for key, timed in points.items()
        }
        rows = tuple(
            (nodes, size_text(size), system, points[nodes, size, system].label, value)
            for (nodes, size, system), value in ratio.items()
        )
        return Reproduction(
            self.name,
            self.title,
            ("nodes", "buffer", "system", "strategy", "h2t_over_h2h"),
            rows,
            tuple(self._claims(ratio)),
            (ESTIMATED, _NOTE),
            tuple(self._panel(ratio, size) for size in self.buffers),
        )

    def _claims(self, ratio: Ratios) -> Iterator[Comparison]:
        first, last = self.nodes[0], self.nodes[-1]
        large = self.buffers[-1]
        mine = [ratio[nodes, large, "ramp"] for nodes in self.nodes]
        yield holds(
            f"RAMP keeps its ratio with the nodes ({size_text(large)})",
            "approximately constant",
            f"{min(mine):.3g} to {max(mine):.3g}",
            holds=max(mine) <= NEGLIGIBLE * min(mine),
            why="head-to-head time grows from 2 to 8 steps",
        )
        ends = {
            system: ratio[last, large, system]
            for system in SYSTEMS
            if (last, large, system) in ratio
        }
        kept = [system for system, value in ends.items() if value > NEGLIGIBLE]
        yield holds(
            f"hierarchical and RAMP stay above {NEGLIGIBLE}, the others do not"
            f" ({size_text(large)}, {last} nodes)",
            "hierarchical, ramp",
            ", ".join(f"{system} {value:.3g}" for system, value in ends.items()),
            holds=kept == [HIERARCHICAL, "ramp"],
            why="the fewest steps of a 2D torus are few beside so much data",
        )
        falls = [
            ratio[first, size, RING] / ratio[last, size, RING] for size in self.buffers
        ]
        yield holds(
            "ring falls with the nodes, alike for every size",
            "yes",
            ", ".join(f"{times:,.0f}X" for times in falls),
            holds=min(falls) > 1 and max(falls) < 1.01 * min(falls),
            why="it does not",
        )

    def _panel(self, ratio: Ratios, size: int) -> Panel:
        series = [
            Series(
                title_of(system),
                [nodes for nodes in self.nodes if (nodes, size, system) in ratio],
                [
                    ratio[nodes, size, system]
                    for nodes in self.nodes
                    if (nodes, size, system) in ratio
                ],
            )
            for system in SYSTEMS
        ]
        return Panel(
            size_text(size),
            "nodes",
            "head to tail / head to head",
            series,
            x_log=2,
            y_log=10,
            x_ticks=ticks(self.nodes),
            marks=(Mark("latency negligible above", y=NEGLIGIBLE),),
        )


_NOTE = (
    "2.4 Tb/s a node everywhere. Above 1 an operation spends more time on data than on"
    " latency. The paper prints curves alone."
)

FIGURE = Fig22()
