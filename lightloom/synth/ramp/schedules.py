"""The strategies for a collective on RAMP, and the schedules they make.

Scatter on RAMP in two portions: circuits of the root, each heard by a class.

One circuit reaches all nodes of one number, their *class* (see `broadcast_tree`). The
root feeds as many classes as it has transceivers, then as many others; of classes that
are left, the blocks go to members of the first ones, who pass them on while the root
feeds its last. All transceivers of the root are busy all the time.

All-reduce on RAMP between whole buffers and blocks: hubs sum up, exchange, spread.

The places of a box are cosets of a subgroup. Each coset has a part of the buffer, and
its members are the hubs of that part: along a tree of shifts that has one displacement
of each coset (`spread_trees`), every hub sums up what its share of all nodes has of the
part; hubs of a part exchange these sums, in one step for each of up to three subgroups
that make them up; and the totals spread along the tree. With more hubs the parts are
larger, and the tree has fewer steps.

In a step of the exchange all nodes that differ in a subgroup of displacements (c, r(c),
n(c)) meet, in which the offset c of the groups tells the others: (c, 0, 0), then (c, c,
0), then (c, 0, c numbers / groups).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.errors import InputError, nearest
from lightloom.core.schedule import (
    Algorithm,
    Op,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.ramp import ROUTE_AND_SWITCH
from lightloom.plans.plan import Partition
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ramp.broadcast_tree import best_pipeline, grow, tree_stream
from lightloom.synth.ramp.exchange_routes import (
    MOST_NODES,
    RoutedExchange,
    exchange_routes,
    relay_routes,
)
from lightloom.synth.ramp.node_box import NodeBox, Shift
from lightloom.synth.ramp.participants import team_of
from lightloom.synth.ramp.rarest_pieces import PieceSteps, piece_steps
from lightloom.synth.ramp.segment_stream import NO_LIMIT, TeamCollective, stream
from lightloom.synth.ramp.spread_trees import SpreadCollective, cosets, spread_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.ramp.exchange_routes import Routes
    from lightloom.synth.ramp.spread_trees import SpreadTree


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


@dataclass(frozen=True, eq=False)
class _Fed:
    """A class that hears a circuit, or several, in one portion.

    `first`, `width`: its first transceiver, and how many. `heard`: classes whose blocks
    are sent, that which hears them first.
    """

    feeder: int
    first: int
    width: int
    heard: tuple[int, ...]


def scatter_rows(fabric: Ramp, task: Collective) -> int:
    """Return how many rows there are at most; members hear blocks of their class."""
    _, members = _members(fabric, task)
    longest = max(map(len, members), default=0)
    every = [one for part in _fed(fabric, task, members) for one in part]
    most = max((len(one.heard) for one in every), default=0)
    return task.rank_count * longest * most


def scatter_stream(fabric: Ramp, task: Collective) -> Iterator[Segment | StepPart]:
    """Yield the segments, each with its step."""
    rank, members = _members(fabric, task)
    cut = Partition(task.rank_count, task.chunk_count)
    for index, part in enumerate(_fed(fabric, task, members)):
        circuits, rows = [], []
        for one in part:
            hearers = members[one.heard[0]]
            used = one.first + np.arange(one.width, dtype=np.int64)
            circuits.append((one.feeder, hearers, used))
            blocks = np.sort(rank[np.concatenate([members[i] for i in one.heard])])
            starts = np.flatnonzero(np.diff(blocks, prepend=-2) > 1)
            ends = np.append(starts[1:], len(blocks)) - 1
            lo, hi = cut.boundary(blocks[starts]), cut.boundary(blocks[ends] + 1)
            rows.append((one.feeder, hearers, lo, hi))
        yield Segment(0, index, _circuits(circuits))
        yield StepPart(index, 0, index, _transfers(rows))


def _members(fabric: Ramp, task: Collective) -> tuple[IntArray, list[IntArray]]:
    """Return the rank of each node, and the nodes of each class but the root."""
    rank = np.zeros(fabric.node_count, dtype=np.int64)
    rank[list(task.nodes)] = np.arange(task.rank_count)
    root = task.nodes[task.root_rank]
    tree = grow(fabric, task.nodes, root, fabric.groups)
    cuts = np.flatnonzero(np.diff(tree.of_class)) + 1
    return rank, np.split(tree.node, cuts) if len(tree.node) else []


def _fed(fabric: Ramp, task: Collective, members: list[IntArray]) -> list[list[_Fed]]:
    """Return which classes are fed in each portion, and by whom."""
    root = task.nodes[task.root_rank]
    ports, count = fabric.groups, len(members)
    if count <= ports:
        width = ports // max(count, 1)
        alone = [_Fed(root, c * width, width, (c,)) for c in range(count)]
        return [alone] if alone else []
    passed = range(2 * ports, count)
    first = [
        _Fed(root, c, 1, (c, *(one for one in passed if one % ports == c)))
        for c in range(ports)
    ]
    late = range(ports, min(2 * ports, count))
    width = ports // len(late)
    then = [_Fed(root, (c - ports) * width, width, (c,)) for c in late]
    then += [_Fed(int(members[c % ports][0]), c // ports - 2, 1, (c,)) for c in passed]
    return [first, then]


def _circuits(fed: list[tuple[int, IntArray, IntArray]]) -> Circuits:
    """Return a multicast circuit for each class and transceiver."""
    src, dst, used, circuit, count = [], [], [], [], 0
    for feeder, hearers, transceivers in fed:
        width = len(transceivers)
        src.append(np.full(len(hearers) * width, feeder, dtype=np.int64))
        dst.append(np.repeat(hearers, width))
        used.append(np.tile(transceivers, len(hearers)))
        circuit.append(np.tile(count + np.arange(width), len(hearers)))
        count += width
    columns = map(np.concatenate, (src, dst, used, circuit))
    src_all, dst_all, used_all, circuit_all = columns
    return Circuits(src_all, dst_all, transceiver=used_all, multicast=circuit_all)


def _transfers(fed: list[tuple[int, IntArray, IntArray, IntArray]]) -> Transfers:
    """Return the rows: to each that hears a circuit the same ranges of chunks."""
    src = [np.full(len(to) * len(lo), one, dtype=np.int64) for one, to, lo, _ in fed]
    dst = [np.repeat(to, len(lo)) for _, to, lo, _ in fed]
    first = np.concatenate([np.tile(lo, len(to)) for _, to, lo, _ in fed])
    end = np.concatenate([np.tile(hi, len(to)) for _, to, _, hi in fed])
    op = np.full(len(first), int(Op.COPY), dtype=np.int64)
    return Transfers(np.concatenate(src), np.concatenate(dst), first, end, op)


_TRIED = 8
"""Subgroups, the most promising first, for which trees are made."""

_Orders = tuple[int, int, int]
_Move = tuple[Shift, tuple["IntArray", "IntArray"], "IntArray", Op]
"""Circuits, the places that send and hear, the parts that move, and what for."""


@dataclass(frozen=True, eq=False)
class HubExchange:
    """An all-reduce by hubs.

    `tree`: with one displacement of each coset of the hubs. `orders`: orders of the
    subgroups of groups, racks and numbers that hubs are made of.
    """

    tree: SpreadTree
    orders: _Orders

    @property
    def parts(self) -> int:
        """Parts of the buffer."""
        return len(self.tree.shift)

    def time_ps(self, size_bytes: int) -> int:
        """Return how long it takes, up to rounding."""
        meetings = sum(order > 1 for order in self.orders)
        steps = 2 * len(self.tree.shifts) + meetings
        rounds = 2 * self.tree.blocks + meetings
        return _time_ps(self.tree.box, steps, rounds, self.parts, size_bytes)

    def events(self, task: Collective) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step."""
        parts = [*self._sweep(back=True), *self._exchange(), *self._sweep(back=False)]
        for index, (shift, ends, part, op) in enumerate(parts):
            yield Segment(0, index, shift.circuits(self.tree.box))
            yield StepPart(index, 0, index, self._rows(task, *ends, part, op))

    def _sweep(self, *, back: bool) -> Iterator[_Move]:
        """Yield what moves along the tree, to the hubs or from them."""
        box, tree = self.tree.box, self.tree
        coset, every = cosets(box, self.orders), range(len(tree.shifts))
        for number in reversed(every) if back else every:
            target = np.flatnonzero(tree.shift == number)
            hub = np.repeat(np.arange(len(box), dtype=np.int64), len(target))
            here = box.moved(hub, np.tile(tree.parent[target], len(box)))
            there = box.moved(hub, np.tile(tree.reached[target], len(box)))
            shift = tree.shifts[number]
            if back:
                yield shift.reversed(box), (there, here), coset[hub], Op.REDUCE
            else:
                yield shift, (here, there), coset[hub], Op.COPY

    def _exchange(self) -> Iterator[_Move]:
        """Yield what moves between the hubs of a part."""
        box = self.tree.box
        coset = cosets(box, self.orders)
        for shift in self._meetings():
            src, offset = shift.pairs(box)
            dst = box.moved(src, shift.displacements(box)[offset])
            yield shift, (src, dst), coset[src], Op.REDUCE

    def _meetings(self) -> Iterator[Shift]:
        """Yield the shifts of the exchange."""
        box = self.tree.box
        for axis, order in enumerate(self.orders):
            if order > 1:
                offset = np.arange(box.groups, dtype=np.int64)
                numbers = offset * 0
                if axis == 2:
                    numbers = offset * order // box.groups * (box.numbers // order)
                lit = offset[:: box.groups // order][1:]
                yield Shift(0, axis == 1, numbers, lit)

    def _rows(
        self, task: Collective, src: IntArray, dst: IntArray, part: IntArray, op: Op
    ) -> Transfers:
        """Return rows between places, one for each part."""
        cut, nodes = Partition(self.parts, task.chunk_count), self.tree.box.nodes
        lo, hi = cut.boundary(part), cut.boundary(part + 1)
        some = hi > lo
        codes = np.full(int(some.sum()), int(op), dtype=np.int64)
        return Transfers(nodes[src[some]], nodes[dst[some]], lo[some], hi[some], codes)


def hub_exchange(box: NodeBox, task: Collective) -> HubExchange | None:
    """Return the fastest of some, ``None`` where a box has no such subgroups."""
    size_bytes = task.buffer_bytes
    promising = sorted(_hubs(box), key=lambda one: _least_ps(box, one, size_bytes))
    best: HubExchange | None = None
    for orders in promising[:_TRIED]:
        if best and best.time_ps(size_bytes) <= _least_ps(box, orders, size_bytes):
            break
        tree = spread_tree(box, orders)
        made = None if tree is None else HubExchange(tree, orders)
        if made and (not best or made.time_ps(size_bytes) < best.time_ps(size_bytes)):
            best = made
    return best


def _hubs(box: NodeBox) -> Iterator[_Orders]:
    """Yield orders of subgroups in which hubs can meet, fewer hubs than nodes."""
    sizes = (box.groups, box.racks, box.numbers)
    divisors = [[d for d in range(1, size + 1) if not size % d] for size in sizes]
    for orders in product(*divisors):
        first, second, third = orders
        fits = not first % second and not first % third
        turns = second == 1 or (box.racks == box.groups)
        if fits and turns and 1 < math.prod(orders) < len(box):
            yield first, second, third


def _least_ps(box: NodeBox, orders: _Orders, size_bytes: int) -> int:
    """Return what it takes with a perfect tree."""
    parts = len(box) // math.prod(orders)
    shifts, reach = 0, 1
    while reach < parts:
        shifts, reach = shifts + 1, reach * (box.groups + 1)
    meetings = sum(order > 1 for order in orders)
    rounds = 2 * -(-(parts - 1) // box.groups) + meetings
    return _time_ps(box, 2 * shifts + meetings, rounds, parts, size_bytes)


def _time_ps(box: NodeBox, steps: int, rounds: int, parts: int, size_bytes: int) -> int:
    """Return the time of steps whose busiest circuits carry so many parts in all."""
    fabric = box.fabric
    part_ps = transmission_ps(-(-size_bytes // parts), fabric.transceiver_bits_per_s)
    return steps * (fabric.alpha_ps + fabric.reconfiguration_ps) + rounds * part_ps


MOST_ROWS = 2**22
"""Most rows, about, of a schedule that is kept in memory as a whole."""


def most_ranks(fabric: Ramp, op: str) -> int:
    """Return the most ranks for which a schedule of an operation is made."""
    # Blocks of ranks in any order lie apart: a pair of nodes moves each by itself.
    if op in ("all-gather", "all-to-all", "reduce-scatter"):
        return isqrt(MOST_ROWS)
    # Along a tree there is one pair for each rank; else each has a pair a group.
    each = 8 if op in ("gather", "scatter") else 8 * fabric.groups
    return MOST_ROWS // each
