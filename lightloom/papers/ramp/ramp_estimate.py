"""What RAMP takes for a collective on some of its nodes, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.papers.ramp.baseline_strategies import StrategyPlan
from lightloom.papers.ramp.collective_estimates import broadcast_run, ramp_runs
from lightloom.papers.ramp.repeated_steps import Estimate, RepeatedSteps, total
from lightloom.synth.ramp.broadcast_tree import best_pipeline, grow
from lightloom.synth.ramp.step_phases import DIRECT
from lightloom.synth.ramp.subgroups import STEPS, Shape
from lightloom.synth.ramp.transceivers import per_pair

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

    Attributes
    ----------
    groups, racks, numbers
        How many. The numbers are one, or a multiple of the groups.
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
    """Yield the boxes of so many nodes that steps serve, fewest steps first.

    Parameters
    ----------
    fabric
        The network.
    nodes
        How many nodes take part.

    Raises
    ------
    InputError
        There is none.
    """
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

    ``steps``, for all-reduce also ``exchange``, for all-to-all also ``direct`` where
    the box allows it, and for broadcast ``tree`` instead: see ``docs/ramp.md``. A step
    lasts as on the fabric without its reconfiguration, which goes on while data are
    on their way between memory and transceiver.

    Parameters
    ----------
    fabric
        The network.
    box
        Nodes that take part.
    op
        An operation, or ``barrier``.
    size_bytes
        The full buffer: see `lightloom.core.task.Collective`.

    Raises
    ------
    InputError
        An operation there is not.
    """
    if op == "broadcast":
        yield _tree(fabric, box, size_bytes)
        return
    yield _along(fabric, box, op, op, size_bytes, "steps")
    if op == "all-reduce":
        yield _along(fabric, box, op, "barrier", size_bytes, "exchange")
    if op == "all-to-all" and box.fills_shape:
        yield _direct(fabric, box, size_bytes)


def fastest(
    offered: Iterable[StrategyPlan], processor: Processor
) -> tuple[StrategyPlan, Estimate]:
    """Return the plan that ends first, the first of equals, and its time.

    Parameters
    ----------
    offered
        Plans, at least one.
    processor
        What adds the buffers.

    Raises
    ------
    InputError
        None is offered.
    """
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


def _direct(fabric: Ramp, box: Box, size_bytes: int) -> StrategyPlan:
    """Return the plan in which everyone sends to one node of each group at a time."""
    nodes = prod((box.groups, box.racks, box.numbers))
    rate = per_pair(fabric.groups, box.shape, DIRECT) * fabric.transceiver_bits_per_s
    run = RepeatedSteps(
        box.racks * box.numbers, Fraction(size_bytes, nodes), rate, fabric.alpha_ps
    )
    return StrategyPlan(NAME, "direct", (nodes,), (run,))


def _tree(fabric: Ramp, box: Box, size_bytes: int) -> StrategyPlan:
    """Return the plan of the best pipelined tree of multicast circuits."""
    nodes = box.nodes(fabric)
    best = best_pipeline(fabric, nodes, nodes[0], size_bytes)
    tree = grow(fabric, nodes, nodes[0], best.fanout)
    rate = tree.transceivers * fabric.transceiver_bits_per_s
    run = broadcast_run(size_bytes, best.pieces, tree.depth, rate, fabric.alpha_ps)
    return StrategyPlan(NAME, "tree", (len(nodes),), (run,))
