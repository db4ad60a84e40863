"""The strategies for a collective on RAMP, and the schedules they make."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lightloom.core.errors import InputError, nearest
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.instances.fabrics.ramp import ROUTE_AND_SWITCH
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ramp.exchange_routes import (
    MOST_NODES,
    RoutedExchange,
    exchange_routes,
    relay_routes,
)
from lightloom.synth.ramp.multicast import (
    PipelinedTree,
    PortionScatter,
    best_pipeline,
    grow,
)
from lightloom.synth.ramp.node_box import MOST_ROWS, NodeBox
from lightloom.synth.ramp.rarest_pieces import piece_steps
from lightloom.synth.ramp.shift_trees import TreeCollective, best_hubs, spread_tree
from lightloom.synth.ramp.team import team_of
from lightloom.synth.ramp.team_steps import TeamCollective

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.ramp.exchange_routes import Routes


NAME = "ramp"
STEPS, EXCHANGE, TREE = "steps", "exchange", "tree"
SPREAD, WHOLE = "spread", "whole"
CLASSES, RAREST, HUBS = "classes", "rarest-first", "hubs"
PHASES = {"two-phase": 2, "three-phase": 3, "four-phase": 4, "direct": 1}
"""Strategies for an all-to-all on a box of nodes, and in how many phases they go."""
ROUTED = (*PHASES, "relayed")
"""All strategies in which every block of an all-to-all has a route of shifts."""
BARRIER = "barrier"
_MOST_SPREAD = 4096
"""Most nodes of a tree of shifts, whose blocks of any node go ways of their own."""
OPS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "broadcast",
    "gather",
    "reduce",
    "reduce-scatter",
    "scatter",
)


class Planned(Protocol):
    """A collective by one of the mechanisms, its chunk count chosen."""

    @property
    def collective(self) -> Collective:
        """What is done."""

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield segments and steps in the order of a file."""


@dataclass(frozen=True, eq=False)
class Way:
    """One way to do a collective.

    `parameters`: what a schedule says of its algorithm.
    """

    fabric: Ramp
    parameters: dict[str, ParameterValue]
    plan: Planned

    @property
    def collective(self) -> Collective:
        """What is done, its chunk count chosen."""
        return self.plan.collective

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield segments and steps in the order of a file."""
        return self.plan.events()

    def schedule(self, seed: int) -> Schedule:
        """Return the schedule, without footer."""
        events = list(self.events())
        return Schedule(
            self.fabric.table(),
            self.collective,
            Algorithm(NAME, self.parameters, seed),
            tuple(event for event in events if isinstance(event, Segment)),
            tuple(event for event in events if isinstance(event, StepPart)),
        )


def strategies(fabric: Ramp, op: str) -> tuple[str, ...]:
    """Return the strategies for an operation, the usual one first.

    `op`: name of a collective, or ``barrier``.
    """
    known: dict[str, tuple[str, ...]] = {
        BARRIER: (EXCHANGE,),
        "all-reduce": (STEPS, EXCHANGE, SPREAD, HUBS),
        "all-to-all": (*ROUTED, STEPS),
        "broadcast": (TREE, STEPS),
        "reduce": (STEPS, SPREAD, WHOLE, RAREST),
        "scatter": (STEPS, SPREAD, CLASSES),
    }
    names = known.get(op, (STEPS, SPREAD))
    if fabric.subnet == ROUTE_AND_SWITCH:
        return tuple(name for name in names if name not in (TREE, CLASSES))
    return names


def require_strategy(fabric: Ramp, op: str, strategy: str, where: str) -> None:
    """Raise unless a strategy is one for an operation.

    `op`: name of a collective, or ``barrier``.
    """
    known = strategies(fabric, op)
    if strategy not in known:
        what = f"unknown strategy for {op} on {fabric.subnet} subnets"
        allowed = ", ".join(known)
        fix = nearest(strategy, known)
        raise InputError(what, where=where, found=strategy, allowed=allowed, fix=fix)


def routes_of(
    fabric: Ramp, nodes: Sequence[int], strategy: str, block_bytes: int
) -> Routes:
    """Return the routes of an all-to-all by a strategy of `ROUTED`.

    Raises `InputError`: nodes that are not at the same numbers in the same racks of
    groups; for ``relayed`` too many of them, or some that random shifts do not reach.
    """
    box = box_of(fabric, nodes, strategy)
    if strategy in PHASES:
        return exchange_routes(box, PHASES[strategy])
    routes = relay_routes(box, block_bytes)
    if routes is None:
        what = "no relayed routes are found for these nodes"
        allowed = f"2 to {MOST_NODES} nodes"
        where, fix = "collective.nodes", "use two-phase"
        raise InputError(what, where=where, found=len(box), allowed=allowed, fix=fix)
    return routes


def box_of(fabric: Ramp, nodes: Sequence[int], strategy: str) -> NodeBox:
    """Return the box of some nodes.

    Raises `InputError`: nodes that are not at the same numbers in the same racks of
    groups.
    """
    box = NodeBox.of(fabric, nodes)
    if box is None:
        sizes = [len(np.unique(part)) for part in fabric.coordinates(np.array(nodes))]
        what = f"invalid nodes for {strategy}: there is none at some place between them"
        found = f"{len(nodes)} nodes at {prod(sizes)} places"
        fix = "name the same numbers in the same racks of some groups"
        raise InputError(what, where="collective.nodes", found=found, fix=fix)
    return box


def fastest_phases(fabric: Ramp, task: Collective) -> str | None:
    """Return the strategy of `ROUTED` that is fastest for an all-to-all.

    Returns the first of equals; ``None`` where the nodes do not form a box.
    """
    box = NodeBox.of(fabric, task.nodes)
    if box is None:
        return None
    block_bytes = task.buffer_bytes // task.rank_count

    def time_ps(strategy: str) -> int:
        routes = routes_of(fabric, task.nodes, strategy, block_bytes)
        return routes.time_ps(block_bytes)

    able = PHASES if relay_routes(box, block_bytes) is None else ROUTED
    return min(able, key=time_ps)


def serves(fabric: Ramp, task: Collective) -> bool:
    """Tell whether some strategy serves the nodes of a collective."""
    if task.op == "all-to-all" and NodeBox.of(fabric, task.nodes) is not None:
        return True
    known = strategies(fabric, task.op)
    if TREE in known:
        return True
    if CLASSES in known and PortionScatter(fabric, task).most_rows <= MOST_ROWS:
        return True
    try:
        team_of(fabric, task.nodes)
    except InputError:
        return False
    return True


def ways(fabric: Ramp, task: Collective, strategy: str | None = None) -> Iterator[Way]:
    """Yield the ways to do a collective, or the one of a strategy.

    Where a strategy that needs whole subgroups has none among the nodes, and another
    does not need them, that one is left out.

    `strategy`: name of the only strategy that is wanted, all where ``None``.

    Raises `InputError`: an operation or strategy there is not; nodes that no steps
    serve.
    """
    if task.op not in OPS:
        what = f"RAMP does not do {task.op}"
        fix = nearest(task.op, OPS)
        raise InputError(what, where="collective.op", allowed=", ".join(OPS), fix=fix)
    known = strategies(fabric, task.op)
    if strategy is not None:
        require_strategy(fabric, task.op, strategy, "algorithm.ramp.strategy")
    elif task.op == "all-to-all":
        strategy = fastest_phases(fabric, task) or STEPS
    refused: InputError | None = None
    served = False
    for name in known if strategy is None else (strategy,):
        try:
            way = way_of(fabric, task, name)
        except InputError as problem:
            refused = refused or problem
            continue
        served = True
        yield way
    if not served:
        assert refused is not None
        raise refused


def way_of(
    fabric: Ramp, task: Collective, strategy: str, block_bytes: int | None = None
) -> Way:
    """Return the way of a strategy, or raise `InputError` where it serves no nodes.

    `block_bytes`: what a block of an all-to-all has when its routes are chosen, by
    default that of the task.
    """
    counts: dict[str, ParameterValue] = {}
    plan: Planned
    if strategy in ROUTED:
        if block_bytes is None:
            block_bytes = task.buffer_bytes // task.rank_count
        routes = routes_of(fabric, task.nodes, strategy, block_bytes)
        plan = RoutedExchange(choose_chunks(task, task.rank_count), routes)
    elif strategy in (SPREAD, WHOLE, HUBS):
        plan, counts = _along_a_tree(fabric, task, strategy)
    elif strategy == RAREST:
        pieces = piece_steps(_small_box(fabric, task, strategy), task)
        if pieces is None:
            raise _unserved(task, strategy)
        plan, counts = pieces, {"pieces": pieces.pieces}
    elif strategy == TREE:
        root = task.nodes[task.root_rank]
        best = best_pipeline(fabric, task.nodes, root, task.buffer_bytes)
        tree = grow(fabric, task.nodes, root, best.fanout)
        plan = PipelinedTree(choose_chunks(task, best.pieces), tree, best.pieces)
        counts = {"fanout": best.fanout, "pieces": best.pieces}
    elif strategy == CLASSES:
        plan = PortionScatter(fabric, choose_chunks(task, task.rank_count))
        if plan.most_rows > MOST_ROWS:
            what, where = "too many rows for classes", "collective.nodes"
            rows, allowed = plan.most_rows, f"at most {MOST_ROWS}"
            raise InputError(
                what, where=where, found=rows, allowed=allowed, fix="use steps"
            )
    else:
        team, whole = team_of(fabric, task.nodes), strategy == EXCHANGE
        chunked = choose_chunks(task, 1 if whole else task.rank_count)
        plan = TeamCollective(team, chunked, whole)
    return Way(fabric, {"strategy": strategy, **counts}, plan)


def _along_a_tree(
    fabric: Ramp, task: Collective, strategy: str
) -> tuple[TreeCollective, dict[str, ParameterValue]]:
    """Return the plan along a tree of shifts, and its further parameters."""
    box = _small_box(fabric, task, strategy)
    if strategy == HUBS:
        hubs = best_hubs(box, task.buffer_bytes)
        if hubs is None:
            raise _unserved(task, strategy)
        tree, orders = hubs
        plan = TreeCollective(choose_chunks(task, tree.parts), tree, orders)
        return plan, {"hubs": len(box) // tree.parts}
    whole_tree = spread_tree(box)
    if whole_tree is None:
        what, where = "random shifts do not reach all nodes", "collective.nodes"
        raise InputError(what, where=where, found=len(box), fix="use steps")
    whole = strategy == WHOLE
    chunked = choose_chunks(task, 1 if whole else task.rank_count)
    return TreeCollective(chunked, whole_tree, whole=whole), {}


def _unserved(task: Collective, strategy: str) -> InputError:
    """Return the error of nodes that are too few or too many for a strategy."""
    what, where = f"invalid number of nodes for {strategy}", "collective.nodes"
    return InputError(what, where=where, found=task.rank_count, fix="use steps")


def _small_box(fabric: Ramp, task: Collective, strategy: str) -> NodeBox:
    """Return the box of a collective's nodes, or raise if they are none, or many."""
    box = box_of(fabric, task.nodes, strategy)
    if len(box) > _MOST_SPREAD:
        what, allowed = f"too many nodes for {strategy}", f"at most {_MOST_SPREAD}"
        where = "collective.nodes"
        raise InputError(what, where=where, found=len(box), allowed=allowed)
    return box


def most_ranks(fabric: Ramp, op: str) -> int:
    """Return the most ranks for which a schedule of an operation is made."""
    # Blocks of ranks in any order lie apart: a pair of nodes moves each by itself.
    if op in ("all-gather", "all-to-all", "reduce-scatter"):
        return isqrt(MOST_ROWS)
    # Along a tree there is one pair for each rank; else each has a pair a group.
    each = 8 if op in ("gather", "scatter") else 8 * fabric.groups
    return MOST_ROWS // each
