"""The strategies for a collective on RAMP, and the schedules they make."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError, nearest
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.instances.fabrics.ramp import ROUTE_AND_SWITCH
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ramp.broadcast_tree import best_pipeline, grow, tree_stream
from lightloom.synth.ramp.class_scatter import scatter_rows, scatter_stream
from lightloom.synth.ramp.exchange_routes import exchange_routes
from lightloom.synth.ramp.file_size import MOST_ROWS
from lightloom.synth.ramp.hub_exchange import hub_exchange
from lightloom.synth.ramp.node_box import NodeBox
from lightloom.synth.ramp.participants import team_of
from lightloom.synth.ramp.rarest_pieces import PieceSteps, piece_steps
from lightloom.synth.ramp.relay_routes import MOST_NODES, relay_routes
from lightloom.synth.ramp.routed_blocks import RoutedExchange
from lightloom.synth.ramp.segment_stream import NO_LIMIT, TeamCollective, stream
from lightloom.synth.ramp.spread_blocks import SpreadCollective
from lightloom.synth.ramp.spread_trees import spread_tree

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
_COUNTED = (TREE, HUBS, RAREST)
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


@dataclass(frozen=True, eq=False)
class Way:
    """One way to do a collective: its parameters, and the events of its schedule.

    `parameters`: what a schedule says of its algorithm.
    """

    fabric: Ramp
    collective: Collective
    parameters: dict[str, ParameterValue]

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield segments and steps in the order of a file."""
        task, strategy = self.collective, str(self.parameters["strategy"])
        if strategy in ROUTED:
            block_bytes = task.buffer_bytes // task.rank_count
            routes = routes_of(self.fabric, task.nodes, strategy, block_bytes)
            yield from RoutedExchange(task, routes).events(NO_LIMIT)
        elif strategy in (SPREAD, WHOLE):
            spread = spread_tree(box_of(self.fabric, task.nodes, strategy))
            assert spread is not None
            yield from SpreadCollective(task, spread, strategy == WHOLE).events()
        elif strategy in (HUBS, RAREST):
            box = box_of(self.fabric, task.nodes, strategy)
            made = (hub_exchange if strategy == HUBS else piece_steps)(box, task)
            assert made is not None
            yield from made.events(task)
        elif strategy == CLASSES:
            yield from scatter_stream(self.fabric, task)
        elif strategy == TREE:
            fanout, pieces = self.parameters["fanout"], self.parameters["pieces"]
            assert isinstance(fanout, int)
            assert isinstance(pieces, int)
            root = task.nodes[task.root_rank]
            tree = grow(self.fabric, task.nodes, root, fanout)
            yield from tree_stream(tree, task, pieces)
        else:
            team = team_of(self.fabric, task.nodes)
            yield from stream(TeamCollective(team, task, strategy == EXCHANGE))

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
    found = known.get(op, (STEPS, SPREAD))
    if fabric.subnet == ROUTE_AND_SWITCH:
        return tuple(name for name in found if name not in (TREE, CLASSES))
    return found


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
    if TREE in known or (CLASSES in known and scatter_rows(fabric, task) <= MOST_ROWS):
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
    made = 0
    for name in known if strategy is None else (strategy,):
        try:
            way = _way(fabric, task, name)
        except InputError as problem:
            refused = refused or problem
            continue
        made += 1
        yield way
    if not made:
        assert refused is not None
        raise refused


def _way(fabric: Ramp, task: Collective, strategy: str) -> Way:
    """Return the way of a strategy, or raise `InputError` where it serves no nodes."""
    if strategy in _COUNTED:
        return _counted(fabric, task, strategy)
    if strategy in ROUTED:
        routes_of(fabric, task.nodes, strategy, task.buffer_bytes // task.rank_count)
    elif strategy in (SPREAD, WHOLE):
        box = _small_box(fabric, task, strategy)
        if spread_tree(box) is None:
            what, where = "random shifts do not reach all nodes", "collective.nodes"
            raise InputError(what, where=where, found=len(box), fix="use steps")
    elif strategy == CLASSES:
        rows = scatter_rows(fabric, task)
        if rows > MOST_ROWS:
            what, fix = "too many rows for classes", "use steps"
            allowed = f"at most {MOST_ROWS}"
            raise InputError(
                what, where="collective.nodes", found=rows, allowed=allowed, fix=fix
            )
    else:
        team_of(fabric, task.nodes)
    whole = strategy in (EXCHANGE, WHOLE)
    chunked = choose_chunks(task, 1 if whole else task.rank_count)
    return Way(fabric, chunked, {"strategy": strategy})


def _counted(fabric: Ramp, task: Collective, strategy: str) -> Way:
    """Return the way of a strategy that says how many of something it takes."""
    if strategy == TREE:
        root = task.nodes[task.root_rank]
        best = best_pipeline(fabric, task.nodes, root, task.buffer_bytes)
        parts, told = best.pieces, {"fanout": best.fanout, "pieces": best.pieces}
    else:
        box = _small_box(fabric, task, strategy)
        made = (hub_exchange if strategy == HUBS else piece_steps)(box, task)
        if made is None:
            what, where = f"invalid number of nodes for {strategy}", "collective.nodes"
            raise InputError(what, where=where, found=len(box), fix="use steps")
        parts, told = made.parts, {"hubs": len(box) // made.parts}
        if isinstance(made, PieceSteps):
            told = {"pieces": made.pieces}
    return Way(fabric, choose_chunks(task, parts), {"strategy": strategy, **told})


def _small_box(fabric: Ramp, task: Collective, strategy: str) -> NodeBox:
    """Return the box of a collective's nodes, or raise if they are none, or many."""
    box = box_of(fabric, task.nodes, strategy)
    if len(box) > _MOST_SPREAD:
        what, allowed = f"too many nodes for {strategy}", f"at most {_MOST_SPREAD}"
        where = "collective.nodes"
        raise InputError(what, where=where, found=len(box), allowed=allowed)
    return box
