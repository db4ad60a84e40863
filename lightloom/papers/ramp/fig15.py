"""RAMP Fig. 15: steps of a reduce-scatter against the number of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING

from lightloom.papers.claims import holds
from lightloom.papers.ramp.baseline_networks import fat_tree
from lightloom.papers.ramp.baseline_strategies import STRATEGIES, plans
from lightloom.papers.ramp.ramp_estimate import boxes
from lightloom.papers.ramp.systems import NODES, TERABIT, ramp, title_of
from lightloom.papers.reproduction import Reproduction
from lightloom.report.plots import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.reproduction import Comparison

OP = "reduce-scatter"
Steps = dict[tuple[int, str], int]
"""Steps by (nodes, strategy)."""


@dataclass(frozen=True)
class Fig15:
    """The figure, for numbers of nodes that are powers of two."""

    sizes: tuple[int, ...] = tuple(2**k for k in range(1, 17))
    name: str = "ramp-fig15"
    title: str = "steps of a reduce-scatter by strategy and number of nodes"

    def run(self, progress: Callable[[str], None]) -> Reproduction:
        """Count the steps of every strategy at every size."""
        steps: Steps = {}
        for nodes in self.sizes:
            progress(f"{nodes} nodes")
            steps |= {(nodes, name): count for name, count in _counted(nodes).items()}
        names = (*STRATEGIES, "ramp")
        rows = tuple(
            (nodes, *(steps.get((nodes, name)) for name in names))
            for nodes in self.sizes
        )
        columns = ("nodes", *(name.replace("-", "_") for name in names))
        return Reproduction(
            self.name,
            self.title,
            columns,
            rows,
            tuple(self._claims(steps)),
            _NOTES,
            (self._panel(steps),),
        )

    def _claims(self, steps: Steps) -> Iterator[Comparison]:
        most = max(steps[nodes, "ramp"] for nodes in self.sizes)
        yield holds(
            "RAMP takes at most 4 steps, 8 for all-reduce (conclusion)",
            "4",
            str(most),
            holds=most <= 4,
            why="a smaller network needs a step for each of its dimensions",
        )
        printed = {nodes: ceil(round(log(nodes, 32), 9)) for nodes in self.sizes}
        off = [nodes for nodes in self.sizes if steps[nodes, "ramp"] != printed[nodes]]
        yield holds(
            "RAMP takes log_x(N) steps, rounded up, x = 32 (section 5)",
            "every size",
            f"{len(self.sizes) - len(off)} of {len(self.sizes)} sizes",
            holds=not off,
            why=f"not at {off}",
        )
        last = self.sizes[-1]
        counts = [steps[last, name] for name in STRATEGIES if (last, name) in steps]
        yield holds(
            f"ring, 2D torus, hierarchical, RAMP take ever fewer steps ({last} nodes)",
            "yes",
            " > ".join(map(str, [*counts, steps[last, "ramp"]])),
            holds=counts == sorted(counts, reverse=True)
            and counts[-1] > steps[last, "ramp"],
            why="with few nodes, strategies coincide",
        )

    def _panel(self, steps: Steps) -> Panel:
        series = [
            Series(
                title_of(name),
                [nodes for nodes in self.sizes if (nodes, name) in steps],
                [steps[nodes, name] for nodes in self.sizes if (nodes, name) in steps],
            )
            for name in (*STRATEGIES, "ramp")
        ]
        ticks = [(n, str(n)) for n in (2, 16, 128, 1024, 8192, NODES)]
        return Panel(
            "reduce-scatter",
            "nodes",
            "steps",
            series,
            x_log=2,
            y_log=10,
            x_ticks=[(n, text) for n, text in ticks if n in self.sizes],
        )


def _counted(nodes: int) -> dict[str, int]:
    """Return the fewest steps of each strategy for so many nodes."""
    network = fat_tree(TERABIT, TERABIT).part(nodes)
    counts: dict[str, int] = {}
    for plan in plans(network, OP, 2**20):
        taken = sum(run.steps for run in plan.runs)
        counts[plan.strategy] = min(taken, counts.get(plan.strategy, taken))
    counts["ramp"] = len(next(boxes(ramp(), nodes)).steps)
    return counts


_NOTES = (
    (
        "ring: N - 1 steps; 2D torus: a + b - 2 for the factors a b = N nearest to each"
        " other; hierarchical: the sum of d - 1 over tiers of 8, 16, 16 and 32; RAMP:"
        " one for each dimension in which nodes differ."
    ),
    "The paper prints the curves alone; the values of its points are not printed.",
)

FIGURE = Fig15()
