"""RAMP Fig. 21: all-reduce against the number of GPUs, strategies at equal rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds
from lightloom.papers.ramp.baseline_strategies import HIERARCHICAL, RING
from lightloom.papers.ramp.sweep import (
    BITS_PER_S,
    SIZES,
    SYSTEMS,
    sweep,
    ticks,
)
from lightloom.papers.ramp.systems import (
    ESTIMATED,
    GB,
    MB,
    size_text,
    title_of,
)
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.ramp.sweep import Points
    from lightloom.papers.reproduction import Comparison


@dataclass(frozen=True)
class Fig21:
    """The figure, for some numbers of nodes and sizes of the buffer."""

    nodes: tuple[int, ...] = SIZES
    buffers: tuple[int, ...] = (MB, 100 * MB, 10 * GB)
    name: str = "ramp-fig21"
    title: str = "all-reduce at 2.4 Tb/s a node, on a fat tree and on RAMP"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Estimate every strategy for every size."""
        points = sweep(self.nodes, self.buffers, progress)
        rows = tuple(
            (
                nodes,
                size_text(size),
                system,
                timed.label,
                timed.us,
                timed.time.steps,
                timed.times(points[nodes, size, "ramp"]),
            )
            for (nodes, size, system), timed in points.items()
        )
        columns = (
            *("nodes", "buffer", "system", "strategy", "time_us", "steps"),
            "times_ramp",
        )
        panels = tuple(self._panel(points, size) for size in self.buffers)
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(points)),
            (ESTIMATED, _NOTE),
            panels,
        )

    def _claims(self, points: Points) -> Iterator[Comparison]:
        last = self.nodes[-1]

        def gains(system: str, nodes: int) -> list[float]:
            """Return the speed-ups of RAMP for every size of the buffer."""
            return [
                points[nodes, size, system].times(points[nodes, size, "ramp"])
                for size in self.buffers
            ]

        ring, tiers = gains(RING, last), gains(HIERARCHICAL, last)
        yield holds(
            f"over ring ({last} nodes)",
            "9X to 10,000X",
            f"{min(ring):.3g}X to {max(ring):,.0f}X",
            holds=8 < min(ring) < 10 and 9_000 < max(ring) < 11_000,
            why="sizes of the curves are not printed; 1 MB to 10 GB here",
        )
        yield holds(
            f"over hierarchical ({last} nodes)",
            "1.16X to 10X",
            f"{min(tiers):.3g}X to {max(tiers):.3g}X",
            holds=round(min(tiers), 2) == 1.16 and 9 < max(tiers) < 11,
            why="sizes of the curves and tiers of the tree are not printed",
        )
        small = self.buffers[0]
        series = [
            points[nodes, small, RING].times(points[nodes, small, "ramp"])
            for nodes in self.nodes
        ]
        yield holds(
            f"the speed-up over ring grows with the nodes ({size_text(small)})",
            "yes",
            f"{series[0]:.3g}X to {series[-1]:,.0f}X",
            holds=series == sorted(series),
            why="RAMP takes another step",
        )
        flat = max(
            points[last, size, "ramp"].times(points[self.nodes[0], size, "ramp"])
            for size in self.buffers
        )
        yield holds(
            "RAMP's time stays almost flat with the nodes",
            "yes",
            f"at most {flat:.2f}X from {self.nodes[0]} to {last} nodes",
            holds=flat < 4,
            why="more steps",
        )

    def _panel(self, points: Points, size: int) -> Panel:
        series = [
            Series(
                title_of(system),
                [nodes for nodes in self.nodes if (nodes, size, system) in points],
                [
                    points[nodes, size, system].us
                    for nodes in self.nodes
                    if (nodes, size, system) in points
                ],
            )
            for system in SYSTEMS
        ]
        return Panel(
            size_text(size),
            "nodes",
            "completion time (us)",
            series,
            x_log=2,
            y_log=10,
            x_ticks=ticks(self.nodes),
        )


_NOTE = (
    f"Every node has {BITS_PER_S / 10**12:g} Tb/s, on RAMP over 32 transceivers; the"
    " fat tree has the same rate everywhere."
)

FIGURE = Fig21()
