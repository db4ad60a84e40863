"""All-reduce against the number of nodes, a fat tree and RAMP at equal rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.plot import Plot
from lightloom.papers.ramp.baseline_networks import fat_tree
from lightloom.papers.ramp.baseline_strategies import STRATEGIES
from lightloom.papers.ramp.compared_systems import GB, MB, on_ramp, on_rings, title_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.papers.figure_data import Tell
    from lightloom.papers.ramp.compared_systems import Timed
    from lightloom.report.panel import Mark

BITS_PER_S = 2_400_000_000_000
SIZES = tuple(2**k for k in range(4, 17))
BUFFERS = (MB, 100 * MB, 10 * GB)
SYSTEMS = (*STRATEGIES, "ramp")
OP = "all-reduce"


def sweep(
    nodes: Sequence[int], buffers: Sequence[int], tell: Tell
) -> Iterator[tuple[int, int, dict[str, Timed]]]:
    """Yield numbers of nodes, sizes of the buffer, and the all-reduce by strategy."""
    for count in nodes:
        tell(f"{count} nodes")
        network = fat_tree(BITS_PER_S, BITS_PER_S).part(count)
        for size in buffers:
            mine = {"ramp": on_ramp(OP, size, count, BITS_PER_S)}
            yield count, size, on_rings(network, OP, size) | mine


def against_nodes(y: str, y_label: str, *marks: Mark) -> Plot:
    """Return a plot of a column against the nodes, a panel for each buffer."""
    return Plot(
        x="nodes",
        y=y,
        series="system",
        panel="buffer",
        x_label="nodes",
        y_label=y_label,
        only=SYSTEMS,
        names=title_of,
        x_log=2,
        y_log=10,
        tick="{:,}".format,
        ticks_every=4,
        marks=marks,
    )
