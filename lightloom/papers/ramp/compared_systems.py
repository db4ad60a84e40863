"""The systems of the RAMP paper, and collectives on them by closed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.ramp.baseline_strategies import LEVELS, STRATEGIES
from lightloom.papers.ramp.baseline_strategies import plans as ring_plans
from lightloom.papers.ramp.ramp_estimate import boxes, fastest
from lightloom.papers.ramp.ramp_estimate import plans as ramp_plans
from lightloom.papers.ramp.repeated_steps import Processor
from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.papers.figure_data import Data
    from lightloom.papers.ramp.baseline_networks import TieredNetwork
    from lightloom.papers.ramp.repeated_steps import Estimate

NODES = 65_536
TERABIT = 10**12
RAMP_BITS_PER_S = 32 * 400 * 10**9
GB = 10**9
MB = 10**6

STEPS = "steps"
RAMP = "ramp"
AS_PRINTED = "-as-printed"
"""Ends the name of a system with an algorithm that the paper gives it."""

TITLES = {
    "fat-tree": "fat tree",
    "2d-torus": "2D torus",
    "topoopt": "TopoOpt",
    RAMP: "RAMP",
}
"""Names in pictures, of systems and of strategies that have one of these names."""

OPERATIONS = (
    *("reduce-scatter", "all-gather", "all-reduce", "reduce", "all-to-all"),
    *("scatter", "gather", "broadcast"),
)
"""Those that move data; a barrier has no size."""

PROCESSOR = Processor()

ESTIMATED = (
    "Times are closed forms: steps without queues, head-to-head and head-to-tail time"
    " and a roofline of 2 TB/s and 130 TFLOP/s. On small networks they equal the"
    " replay of verified schedules; docs/spec/estimates.md lists what is assumed."
)
NOT_PRINTED = (
    "tiers, placement and paths of the paper's simulator are not printed; see"
    " docs/spec/estimates.md for those used here"
)

BEST_AND_PRINTED = (
    "Every system has two rows: the best algorithm known to lightloom, and as printed"
    " the best of the paper's. Ours: all-to-all on RAMP goes in two phases of eight"
    " shifts with all transceivers busy; a fat tree exchanges with all of a level at"
    " once (levels). TopoOpt is one ring, as the paper has it, and no other wiring of"
    " its circuits is tried. times_ramp is over RAMP's row of the same kind."
)


@dataclass(frozen=True)
class Timed:
    """A collective on a system by its fastest plan.

    `rings` are the members of each ring, or of each subgroup.
    """

    system: str
    strategy: str
    rings: tuple[int, ...]
    time: Estimate

    @property
    def us(self) -> float:
        """Completion time in microseconds."""
        return float(self.time.total_ps) / PS_PER_US

    @property
    def label(self) -> str:
        """Strategy with its sizes."""
        return f"{self.strategy} {' x '.join(map(str, self.rings))}"

    def times(self, other: Timed) -> float:
        """Return how many times as long as another it takes."""
        return float(self.time.total_ps / other.time.total_ps)


def ramp(bits_per_s: int = RAMP_BITS_PER_S) -> Ramp:
    """Return RAMP at its largest scale, at a rate of a node."""
    rate = bits_per_s // 32
    return Ramp(
        groups=32, racks=32, nodes_per_rack=64, bits_per_second_per_transceiver=rate
    )


def on_ramp(
    op: str,
    size_bytes: int,
    nodes: int = NODES,
    bits_per_s: int = RAMP_BITS_PER_S,
    strategy: str | None = None,
) -> Timed:
    """Return an operation on so many nodes of RAMP, at the best of places."""
    fabric = ramp(bits_per_s)
    offered = (
        plan
        for box in boxes(fabric, nodes)
        for plan in ramp_plans(fabric, box, op, size_bytes)
        if strategy in (None, plan.strategy)
    )
    plan, time = fastest(offered, PROCESSOR)
    return Timed(plan.network, plan.strategy, plan.rings, time)


def on_ramp_as_printed(
    op: str,
    size_bytes: int,
    nodes: int = NODES,
    bits_per_s: int = RAMP_BITS_PER_S,
) -> Timed:
    """Return an operation on nodes of RAMP by an algorithm of the paper."""
    only = STEPS if op == "all-to-all" else None
    timed = on_ramp(op, size_bytes, nodes, bits_per_s, only)
    return replace(timed, system=RAMP + AS_PRINTED)


def on_rings(
    network: TieredNetwork,
    op: str,
    size_bytes: int,
    strategies: Sequence[str] = STRATEGIES,
) -> dict[str, Timed]:
    """Return an operation on a network by each of its strategies, fastest sizes."""
    offered = list(ring_plans(network, op, size_bytes))
    found = {}
    for strategy in strategies:
        of_it = [plan for plan in offered if plan.strategy == strategy]
        if of_it:
            plan, time = fastest(of_it, PROCESSOR)
            found[strategy] = Timed(network.name, strategy, plan.rings, time)
    return found


def best_on(network: TieredNetwork, op: str, size_bytes: int) -> Timed:
    """Return an operation on a network by the fastest strategy that is known."""
    known = on_rings(network, op, size_bytes, (*STRATEGIES, LEVELS)).values()
    return min(known, key=lambda timed: timed.time.total_ps)


def on_rival_as_printed(network: TieredNetwork, op: str, size_bytes: int) -> Timed:
    """Return an operation on a network by the fastest strategy of the paper."""
    printed = on_rings(network, op, size_bytes).values()
    timed = min(printed, key=lambda one: one.time.total_ps)
    return replace(timed, system=network.name + AS_PRINTED)


def title_of(name: str) -> str:
    """Return the name of a system or a strategy in pictures."""
    plain = name.removesuffix(AS_PRINTED)
    return TITLES.get(plain, plain) + (", as printed" if plain != name else "")


def beside_the_paper(
    data: Data, ours: Sequence[float], paper: Sequence[float], label: str
) -> Panel:
    """Return ours and the paper's values of each network as dots."""
    networks = zip(data.values("network"), data.values("oversubscription"), strict=True)
    names = [f"{network}\n{ratio}".replace(" at ", "\n") for network, ratio in networks]
    series = [Series("ours", names, ours), Series("paper", names, paper)]
    return Panel("65,536 nodes", "", label, series, "dots", y_log=10)


def rounded(value: float) -> float:
    """Return a value with as many digits as fit above a bar."""
    return float(f"{value:.2g}")


def size_text(size_bytes: int) -> str:
    """Return a decimal size for people."""
    for unit, name in ((GB, "GB"), (MB, "MB"), (1000, "kB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} B"
