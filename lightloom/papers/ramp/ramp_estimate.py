"""What RAMP takes for a collective on some of its nodes, in closed form."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.errors import InputError
from lightloom.papers.ramp.baseline_strategies import StrategyPlan
from lightloom.papers.ramp.collective_estimates import broadcast_run, ramp_runs
from lightloom.papers.ramp.repeated_steps import Estimate, RepeatedSteps, total
from lightloom.synth.ramp.broadcast_tree import best_pipeline, grow
from lightloom.synth.ramp.exchange_routes import exchange_routes
from lightloom.synth.ramp.node_box import NodeBox
from lightloom.synth.ramp.schedules import PHASES
from lightloom.synth.ramp.subgroups import STEPS, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.papers.ramp.repeated_steps import Processor

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
    found = [
        Box(x, racks, nodes // x // racks)
        for x in range(1, fabric.groups + 1)
        if nodes % x == 0
        for racks in range(1, min(x, fabric.racks) + 1)
        if nodes // x % racks == 0
        and nodes // x // racks in {1, *range(x, x * x + 1, x)}
        and nodes // x // racks <= fabric.nodes_per_rack
    ]
    if not found:
        what = "no groups, racks and numbers make up so many nodes"
        raise InputError(what, where="nodes", found=nodes)
    yield from sorted(found, key=lambda box: (len(box.steps), -box.groups, box.racks))


def plans(fabric: Ramp, box: Box, op: str, size_bytes: int) -> Iterator[StrategyPlan]:
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
    at_any_rate = replace(fabric, bits_per_second_per_transceiver=1)
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
