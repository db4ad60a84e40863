"""The systems of the RAMP paper, and what collectives take on them in closed form."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import prod
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.papers.ramp.closed_forms import (
    LEVELS,
    STRATEGIES,
    Estimate,
    Processor,
    RepeatedSteps,
    StrategyPlan,
    broadcast_run,
    ramp_runs,
    total,
)
from lightloom.papers.ramp.closed_forms import plans as ring_plans
from lightloom.report.panel import Panel, Series
from lightloom.synth.ramp.exchange_routes import exchange_routes
from lightloom.synth.ramp.multicast import best_pipeline, grow
from lightloom.synth.ramp.node_box import NodeBox
from lightloom.synth.ramp.schedules import PHASES
from lightloom.synth.ramp.team import STEPS, Shape, boxes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lightloom.papers.ramp.closed_forms import TieredNetwork
    from lightloom.papers.reproduction import Data

NAME = "ramp"
_ALONG_NUMBERS = (2, 4)
"""Steps whose subgroups have nodes of several numbers."""


@dataclass(frozen=True)
class Box:
    """Nodes of the first so many groups, racks and numbers.

    The numbers are one, or a multiple of the groups.
    """

    groups: int
    racks: int
    numbers: int

    @property
    def shape(self) -> Shape:
        """Return the smaller network that they form."""
        rounded = -(-self.numbers // self.groups) * self.groups
        return Shape(self.groups, self.racks, rounded)

    @property
    def fills_shape(self) -> bool:
        """Whether there is a node at every place of that network."""
        return self.numbers % self.groups == 0

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the active steps."""
        return tuple(
            step
            for step in STEPS
            if self.shape.members(step) > 1
            and (self.fills_shape or step not in _ALONG_NUMBERS)
        )

    def nodes(self, fabric: Ramp) -> tuple[int, ...]:
        """Return the nodes, ascending."""
        sizes = (self.groups, self.racks, self.numbers)
        group, rack, number = np.indices(sizes, dtype=np.int64)
        nodes = fabric.node(group, rack, number).reshape(-1)
        return tuple(nodes.tolist())


def boxes(fabric: Ramp, nodes: int) -> Iterator[Box]:
    """Yield the boxes of so many nodes that steps serve, fewest steps first."""
    served = [Box(*counts) for counts in boxes_of(fabric) if prod(counts) == nodes]
    if not served:
        what = "no groups, racks and numbers make up so many nodes"
        raise InputError(what, where="nodes", found=nodes)
    yield from sorted(served, key=lambda box: (len(box.steps), -box.groups, box.racks))


def ramp_plans(
    fabric: Ramp, box: Box, op: str, size_bytes: int
) -> Iterator[StrategyPlan]:
    """Yield what each strategy of RAMP does for an operation on the nodes of a box.

    ``steps``, for all-reduce also ``exchange``, for all-to-all also the phases of
    shifts, and for broadcast ``tree`` instead: see ``docs/ramp.md``. A step
    lasts as on the fabric without its reconfiguration, which goes on while data are
    on their way between memory and transceiver.
    """
    if op == "broadcast":
        yield _tree(fabric, box, size_bytes)
        return
    yield _along(fabric, box, op, op, size_bytes, "steps")
    if op == "all-reduce":
        yield _along(fabric, box, op, "barrier", size_bytes, "exchange")
    if op == "all-to-all":
        for name, phases in PHASES.items():
            yield _phased(fabric, box, name, phases, size_bytes)


def fastest(
    offered: Iterable[StrategyPlan], processor: Processor
) -> tuple[StrategyPlan, Estimate]:
    """Return the plan that ends first, the first of equals, and its time."""
    timed = [(plan, total(plan.runs, processor)) for plan in offered]
    if not timed:
        raise InputError("no plan to choose from", where="plans")
    return min(timed, key=lambda pair: pair[1].total_ps)


def _along(
    fabric: Ramp, box: Box, op: str, load: str, size_bytes: int, strategy: str
) -> StrategyPlan:
    """Return the plan of steps with the loads of an operation."""
    # A barrier is an exchange of one byte, whatever the buffer.
    moved = 1 if op == "barrier" else size_bytes
    runs = ramp_runs(
        *(box.shape, load, moved, fabric.groups),
        *(fabric.transceiver_bits_per_s, fabric.alpha_ps, box.steps),
    )
    sizes = tuple(box.shape.members(step) for step in box.steps)
    return StrategyPlan(NAME, strategy, sizes, tuple(runs))


def _phased(
    fabric: Ramp, box: Box, strategy: str, phases: int, size_bytes: int
) -> StrategyPlan:
    """Return the plan in which blocks go by shifts in so many phases."""
    nodes = box.groups * box.racks * box.numbers
    at_any_rate = msgspec.structs.replace(fabric, bits_per_second_per_transceiver=1)
    runs = tuple(
        RepeatedSteps(
            steps,
            Fraction(size_bytes * blocks, nodes),
            transceivers * fabric.transceiver_bits_per_s,
            fabric.alpha_ps,
        )
        for (blocks, transceivers), steps in _shifts(at_any_rate, box, phases).items()
    )
    return StrategyPlan(NAME, strategy, (nodes,), runs)


@cache
def _shifts(fabric: Ramp, box: Box, phases: int) -> dict[tuple[int, int], int]:
    """Return how many shifts load a pair with so many blocks and transceivers."""
    nodes = np.array(box.nodes(fabric), dtype=np.int64)
    within = NodeBox(fabric, box.groups, box.racks, box.numbers, nodes)
    routes = exchange_routes(within, phases)
    pairs = zip(routes.shifts, routes.loads.max(axis=1).tolist(), strict=True)
    return Counter((most, shift.transceivers(within)) for shift, most in pairs)


def _tree(fabric: Ramp, box: Box, size_bytes: int) -> StrategyPlan:
    """Return the plan of the best pipelined tree of multicast circuits."""
    nodes = box.nodes(fabric)
    best = best_pipeline(fabric, nodes, nodes[0], size_bytes)
    tree = grow(fabric, nodes, nodes[0], best.fanout)
    rate = tree.transceivers * fabric.transceiver_bits_per_s
    run = broadcast_run(size_bytes, best.pieces, tree.depth, rate, fabric.alpha_ps)
    return StrategyPlan(NAME, "tree", (len(nodes),), (run,))


NODES = 65_536
"""Of the paper's comparisons."""
TERABIT = 10**12
"""Bits."""
RAMP_BITS_PER_S = 32 * 400 * 10**9
"""Of a node: 32 transceivers of 400 Gb/s."""
GB = 10**9
"""Bytes."""
MB = 10**6
"""Bytes."""

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

NOT_PRINTED = (
    "tiers, placement and paths of the paper's simulator are not printed; see"
    " docs/spec/estimates.md for those used here"
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
    only = "steps" if op == "all-to-all" else None
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
    fastest_by_strategy = {}
    for strategy in strategies:
        of_it = [plan for plan in offered if plan.strategy == strategy]
        if of_it:
            plan, time = fastest(of_it, PROCESSOR)
            fastest_by_strategy[strategy] = Timed(
                network.name, strategy, plan.rings, time
            )
    return fastest_by_strategy


def best_on(network: TieredNetwork, op: str, size_bytes: int) -> Timed:
    """Return an operation on a network by the fastest strategy that is known."""
    known = on_rings(network, op, size_bytes, (*STRATEGIES, LEVELS)).values()
    return min(known, key=lambda timed: timed.time.total_ps)


def on_rival_as_printed(network: TieredNetwork, op: str, size_bytes: int) -> Timed:
    """Return an operation on a network by the fastest strategy of the paper."""
    printed = on_rings(network, op, size_bytes).values()
    timed = min(printed, key=lambda by_strategy: by_strategy.time.total_ps)
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
