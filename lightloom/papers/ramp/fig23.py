"""RAMP Fig. 23: computing in a reduce-scatter, two buffers at a time or all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.papers.claims import holds, near
from lightloom.papers.ramp.baseline_networks import topoopt
from lightloom.papers.ramp.baseline_strategies import plans
from lightloom.papers.ramp.ramp_estimate import boxes, fastest
from lightloom.papers.ramp.ramp_estimate import plans as ramp_plans
from lightloom.papers.ramp.sweep import SIZES, ticks
from lightloom.papers.ramp.systems import GB, PROCESSOR, ramp
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison

OP = "reduce-scatter"


@dataclass(frozen=True)
class Fig23:
    """The figure, for some numbers of nodes and a size of the buffer."""

    nodes: tuple[int, ...] = SIZES
    size_bytes: int = GB
    name: str = "ramp-fig23"
    title: str = "time to add up 1 GB in a reduce-scatter"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Compute both times for every number of nodes."""
        rows = []
        for nodes in self.nodes:
            progress(f"{nodes} nodes")
            one, several = self._times_us(nodes)
            rows.append((nodes, one, several, one / several))
        series = [
            Series(label, self.nodes, [row[place] for row in rows])
            for place, label in ((1, "one source a step"), (2, "RAMP, several sources"))
        ]
        panel = Panel(
            "1 GB",
            "nodes",
            "computing (us)",
            series,
            x_log=2,
            x_ticks=ticks(self.nodes),
        )
        return Reproduction(
            self.name,
            self.title,
            ("nodes", "one_source_us", "ramp_us", "ratio"),
            tuple(rows),
            tuple(self._claims([row[3] for row in rows])),
            (_NOTE,),
            (panel,),
        )

    def _times_us(self, nodes: int) -> tuple[float, float]:
        """Return the time that sums take with one source a step, and on RAMP."""
        fabric = ramp()
        box = next(boxes(fabric, nodes))
        line = plans(topoopt(1).part(nodes), OP, self.size_bytes)
        _, one = fastest(line, PROCESSOR)
        _, several = fastest(ramp_plans(fabric, box, OP, self.size_bytes), PROCESSOR)
        return float(one.compute_ps) / PS_PER_US, float(several.compute_ps) / PS_PER_US

    def _claims(self, ratios: list[float]) -> Iterator[Comparison]:
        last = self.nodes[-1]
        yield near(f"speed-up at {last} nodes", 2.8, ratios[-1], "X")
        yield holds(
            "adding several sources at once is faster at every size",
            "yes",
            f"{min(ratios):.2f}X to {max(ratios):.2f}X",
            holds=min(ratios) > 1,
            why="with two members a step has one source too",
        )


_NOTE = (
    "Adding d buffers reads d and writes one: 3/2 of the buffer's bytes for each step"
    " of two, (d + 1)/d for d; memory of 2 TB/s is what counts, not the 130 TFLOP/s."
)

FIGURE = Fig23()
