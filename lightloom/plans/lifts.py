"""Lifts: digraphs on a few orbits of a group, which look alike from all of an orbit.

With a single orbit these are Cayley digraphs, here of split metacyclic groups. Every
port joins all nodes to all nodes, one to one, so one switch or wavelength holds it.

How much takes which port in each round, so that ports are loaded evenly, is a flow of
states. A state is where a walk is, seen from the first node of its orbit, and where it
goes. All walks of a state are alike, whatever node of the orbit they are at and
wherever they began, so an all-to-all is amounts of states. Ports come in as many groups
as there are configurations in turn; a walk takes a port that is lit, or stays.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt
    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray


@dataclass(frozen=True)
class Metacyclic:
    """Pairs (a, b) of a modulo m and b modulo q: (a, b)(c, d) = (a + r^b c, b + d).

    The pair (a, b) is rank a q + b; rank 0 is the neutral element. With one turn the
    group is cyclic; with two, and r = m - 1, dihedral.

    `twist`: r, of which the q-th power is 1 modulo m; 1: the group commutes.
    """

    rotations: int
    turns: int = 1
    twist: int = 1

    @property
    def order(self) -> int:
        """Number of elements n = m q."""
        return self.rotations * self.turns

    @property
    def is_sound(self) -> bool:
        """Whether the twist fits, so that this is a group."""
        m = self.rotations
        return pow(self.twist, self.turns, m) == 1 % m

    def product(self, left: IntArray, right: IntArray) -> IntArray:
        """Return left times right, element by element, broadcast to one shape."""
        (a, b), (c, d) = np.divmod(left, self.turns), np.divmod(right, self.turns)
        first = (a + _powers(self)[b] * c) % self.rotations
        found: IntArray = first * self.turns + (b + d) % self.turns
        return found

    def inverse(self, element: IntArray) -> IntArray:
        """Return what each element must be multiplied with to give the neutral one."""
        a, b = np.divmod(element, self.turns)
        back = -b % self.turns
        first = -(_powers(self)[back] * a) % self.rotations
        found: IntArray = first * self.turns + back
        return found


def metacyclic_groups(order: int) -> tuple[Metacyclic, ...]:
    """Return groups of so many elements: the cyclic one, and one for every other q.

    The twist is the least of those with most different powers; where 1 is the only one,
    the group commutes and is left out.
    """
    groups = [Metacyclic(order)]
    for turns in range(2, order // 3 + 1):
        if order % turns:
            continue
        rotations = order // turns
        best, most = 1, 1
        for twist in range(2, rotations):
            if gcd(twist, rotations) > 1 or pow(twist, turns, rotations) != 1:
                continue
            powers = len({pow(twist, b, rotations) for b in range(turns)})
            if powers > most:
                best, most = twist, powers
        if most > 1:
            groups.append(Metacyclic(rotations, turns, best))
    return tuple(groups)


@functools.lru_cache(maxsize=64)
def _powers(group: Metacyclic) -> IntArray:
    """Return the powers of the twist, shape (q,)."""
    m = group.rotations
    return np.array([pow(group.twist, b, m) for b in range(group.turns)])


@dataclass(frozen=True, eq=False)
class Level:
    """What reaches the first node of an orbit from nodes equally far away.

    One row a range of pieces that comes from one node over one port.

    `orbit`: orbit of the node that is reached. `port`, `before`: the last arc, and the
    node that it comes from.
    """

    orbit: int
    source: IntArray
    port: IntArray
    before: IntArray
    first: IntArray
    count: IntArray


@dataclass(frozen=True)
class Lift:
    """Node i m + g is element g of orbit i, for a group of order m.

    `heads`: ``heads[p][i]``: where port p leads from the neutral element of orbit i. If
    that is node j m + s, then it leads from element g there to element g s of orbit j.
    """

    group: Metacyclic
    heads: tuple[tuple[int, ...], ...]

    @classmethod
    def of_steps(cls, group: Metacyclic, steps: Iterable[int]) -> Lift:
        """Return the Cayley digraph of some steps, in ascending order."""
        return cls(group, tuple((step,) for step in sorted(steps)))

    @property
    def orbits(self) -> int:
        """Number of orbits."""
        return len(self.heads[0])

    @property
    def ranks(self) -> int:
        """Number of nodes."""
        return self.orbits * self.group.order

    @property
    def is_sound(self) -> bool:
        """Whether ports are permutations, without loops and all different."""
        order = self.group.order
        if not self.group.is_sound:
            return False
        for orbit in range(self.orbits):
            ends = [head[orbit] for head in self.heads]
            if len(set(ends)) < len(ends) or orbit * order in ends:
                return False
        return all(
            sorted(end // order for end in head) == list(range(self.orbits))
            for head in self.heads
        )

    def turned(self) -> Lift:
        """Return the lift with all arcs turned around, port by port."""
        order = self.group.order
        heads = []
        for head in self.heads:
            turned = [0] * self.orbits
            for orbit, end in enumerate(head):
                step = np.array([end % order], dtype=np.int64)
                back = int(self.group.inverse(step)[0])
                turned[end // order] = orbit * order + back
            heads.append(tuple(turned))
        return Lift(self.group, tuple(heads))

    def following(self) -> IntArray:
        """Return where each port leads from each node, shape (ports, n)."""
        return _following(self)

    def distances(self) -> IntArray:
        """Return the hops from the first node of each orbit, shape (orbits, n).

        -1 where no way leads.
        """
        return _distances(self)

    def moved(self, node: IntArray) -> IntArray:
        """Return where each element takes nodes, shape (order, nodes)."""
        order = self.group.order
        orbit, element = np.divmod(node, order)
        shift = np.arange(order, dtype=np.int64)[:, None]
        found: IntArray = orbit * order + self.group.product(shift, element)
        return found

    def between(self, source: IntArray, node: IntArray) -> IntArray:
        """Return the hops from one node to another, broadcast to one shape."""
        order = self.group.order
        orbit, element = np.divmod(source, order)
        other, target = np.divmod(node, order)
        back = self.group.product(self.group.inverse(element), target)
        hops: IntArray = self.distances()[orbit, other * order + back]
        return hops

    def levels(self, pieces: int) -> tuple[tuple[Level, ...], ...]:
        """Return, hop by hop, what reaches the first node of each orbit.

        Blocks in pieces, each over an arc from a node that has it one hop earlier,
        so that the arcs are loaded as evenly as can be.

        `pieces`: pieces of a block, 1 or more.
        """
        return _levels(self, pieces)

    def gather_load(self, pieces: int) -> int:
        """Return the pieces over the busiest arc of each hop of `levels`, summed.

        `pieces`: pieces of a block, 1 or more.
        """
        ports = len(self.heads)
        return sum(
            max(
                int(np.bincount(one.port, one.count, minlength=ports).max(initial=0))
                for one in level
            )
            for level in self.levels(pieces)
        )


@functools.lru_cache(maxsize=8)
def _following(lift: Lift) -> IntArray:
    order = lift.group.order
    element = np.arange(order, dtype=np.int64)
    rows = [
        np.concatenate(
            [
                end // order * order
                + lift.group.product(element, np.array(end % order, dtype=np.int64))
                for end in head
            ]
        )
        for head in lift.heads
    ]
    return np.stack(rows)


@functools.lru_cache(maxsize=8)
def _distances(lift: Lift) -> IntArray:
    following, order = lift.following(), lift.group.order
    distance = np.full((lift.orbits, lift.ranks), -1, dtype=np.int64)
    for orbit in range(lift.orbits):
        here = np.array([orbit * order], dtype=np.int64)
        distance[orbit, here] = length = 0
        while len(here):
            length += 1
            reached = np.zeros(lift.ranks, dtype=np.bool_)
            reached[following[:, here]] = True
            here = np.flatnonzero(reached & (distance[orbit] < 0))
            distance[orbit, here] = length
    return distance


@functools.lru_cache(maxsize=8)
def _levels(lift: Lift, pieces: int) -> tuple[tuple[Level, ...], ...]:
    order, ports = lift.group.order, len(lift.heads)
    node = np.arange(lift.ranks, dtype=np.int64)
    preceding = np.argsort(lift.following(), axis=1)
    levels: list[tuple[Level, ...]] = []
    for hops in range(1, int(lift.distances().max()) + 1):
        found = []
        for orbit in range(lift.orbits):
            before = preceding[:, orbit * order]
            source = node[lift.between(node, np.array(orbit * order)) == hops]
            fits = lift.between(source[:, None], before) == hops - 1
            amounts = even_split(fits, pieces)
            row, port = np.nonzero(amounts)
            first = (np.cumsum(amounts, axis=1) - amounts)[row, port]
            assert ports == amounts.shape[1]
            found.append(
                Level(orbit, source[row], port, before[port], first, amounts[row, port])
            )
        levels.append(tuple(found))
    return tuple(levels)


_MOST_WAITING = 1 << 10
"""Ranks in all rounds of one configuration up to which walks may wait for a later one.

Ports then carry up to 14 % less in all, on 16 nodes, and .4 % on 256; on 1024 the
program takes four times as long for .3 %.
"""
_MOST_TOGETHER = 1 << 13
"""Ranks in all rounds up to which walks are chosen together, at a second for half."""

_ROUNDING = 1e-3
"""What the solver's last digits may add to a whole number."""


@dataclass(frozen=True, eq=False)
class LiftWalks:
    """Walks from the first node of every orbit to all nodes, a few to each.

    `nodes`: where each walk is after each round, shape (rounds + 1, walks). `ports`:
    the port it takes in each round, -1 where it stays; shape (rounds, walks). `piece`:
    which piece of the block takes the walk, shape (walks,).
    """

    nodes: IntArray
    ports: IntArray
    piece: IntArray

    def load(self, lift: Lift) -> int:
        """Return how many walks take the busiest arc, summed over rounds."""
        orbit, ports = self.nodes[:-1] // lift.group.order, len(lift.heads)
        arc = np.where(self.ports < 0, -1, orbit * ports + self.ports)
        return sum(int(np.bincount(one[one >= 0]).max(initial=0)) for one in arc)


@functools.lru_cache(maxsize=64)
def even_walks_of(lift: Lift, pieces: int, rounds: tuple[int, ...] = ()) -> LiftWalks:
    """Return shortest walks that load the arcs of each round evenly.

    Evenly: in the sum over rounds of what the busiest arc carries. Walks are chosen one
    after the other, where arcs have most room; if an integer program promises less
    (`whole_amounts`), all together.

    `pieces`: walks to each node, 1 or more. `rounds`: rounds of each configuration; by
    default of one, as many as any walk has hops. All nodes must be within reach.
    """
    rounds = rounds or (int(lift.distances().max()),)
    chosen = walks_in_turn(lift, pieces, rounds)
    load, arcs = chosen.load(lift), lift.orbits * len(lift.heads)
    if load == -(-int((chosen.ports >= 0).sum()) // arcs):
        return chosen  # no arc is ever without a walk
    if lift.ranks * sum(rounds) > _MOST_TOGETHER:
        return chosen
    waits = len(rounds) > 1 or lift.ranks * sum(rounds) <= _MOST_WAITING
    moves = shortest_moves(lift, rounds, waits=waits)
    assert moves is not None
    if load < least_load(moves) * pieces + 1 - _ROUNDING:
        return chosen  # the best, since loads are whole numbers
    amounts = whole_amounts(moves, pieces)
    if amounts is None:
        return chosen
    together = _walks_of_amounts(lift, pieces, moves, amounts)
    return together if together.load(lift) < load else chosen


def _walks_of_amounts(
    lift: Lift, pieces: int, moves: Sequence[WalkMoves], amounts: Sequence[IntArray]
) -> LiftWalks:
    """Return walks of which so many make each move."""
    following, ranks = lift.following(), lift.ranks
    state = np.repeat(np.unique(moves[0].state), pieces)
    start = state // ranks * lift.group.order
    nodes, ports = [start], []
    for now, amount in zip(moves, amounts, strict=True):
        # Those of a state are taken as they come by the moves of that state.
        by_state = np.argsort(state, kind="stable")
        moving = by_state[np.isin(state[by_state], now.state)]
        rows = np.argsort(now.state, kind="stable")
        row = np.repeat(rows, amount[rows])
        port = np.full(len(state), -1, dtype=np.int64)
        port[moving], state = now.port[row], state.copy()
        state[moving] = now.following[row]
        at = nodes[-1]
        nodes.append(np.where(port < 0, at, following[port, at]))
        ports.append(port)
    piece = np.tile(np.arange(pieces, dtype=np.int64), len(start) // pieces)
    return LiftWalks(np.stack(nodes), np.stack(ports), piece)


def walks_in_turn(lift: Lift, pieces: int, rounds: tuple[int, ...]) -> LiftWalks:
    """Return walks chosen one after the other; with one configuration, none waits."""
    nodes, ports = _every_walk(lift, rounds)
    key = (ports >= 0).sum(axis=1) * lift.ranks**2
    key += nodes[:, 0] * lift.ranks + nodes[:, -1]
    by_end = np.argsort(key, kind="stable")
    _, first = np.unique(key[by_end], return_index=True)
    degree = len(lift.heads)
    step = np.arange(ports.shape[1])
    counter = (step * lift.orbits + nodes[:, :-1] // lift.group.order) * degree + ports
    ways = [way for way in np.split(by_end, first[1:]) for _ in range(pieces)]
    options = [counter[way][ports[way] >= 0].reshape(len(way), -1) for way in ways]
    chosen, _ = even_choice(options, ports.shape[1] * lift.orbits * degree)
    row = np.array(
        [way[choice] for way, choice in zip(ways, chosen.tolist(), strict=True)],
        dtype=np.int64,
    )
    piece = np.tile(np.arange(pieces, dtype=np.int64), len(ways) // pieces)
    return LiftWalks(nodes[row].T, ports[row].T, piece)


def _every_walk(lift: Lift, rounds: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the nodes and ports of all shortest walks, one row each."""
    moves = shortest_moves(lift, rounds, waits=len(rounds) > 1)
    assert moves is not None
    following = lift.following()
    state = np.unique(moves[0].state)
    nodes = state[:, None] // lift.ranks * lift.group.order
    ports = np.zeros((len(state), 0), dtype=np.int64)
    for now in moves:
        by_state = np.argsort(now.state, kind="stable")
        begin = np.searchsorted(now.state, state, sorter=by_state)
        ways = np.searchsorted(now.state, state, side="right", sorter=by_state) - begin
        # Those that have arrived stay.
        row = np.repeat(np.arange(len(state)), np.maximum(ways, 1))
        place = np.arange(len(row)) - np.searchsorted(row, row)
        goes = ways[row] > 0
        move = by_state[(begin[row] + place)[goes]]
        port = np.full(len(row), -1)
        port[goes], state = now.port[move], state[row]
        state[goes] = now.following[move]
        at = nodes[row, -1]
        after = np.where(port < 0, at, following[port, at])
        nodes = np.concatenate([nodes[row], after[:, None]], axis=1)
        ports = np.concatenate([ports[row], port[:, None]], axis=1)
    return nodes, ports


@dataclass(frozen=True, eq=False)
class WalkMoves:
    """What walks may do in a round; one row a state and port, or a state that stays.

    State i n + v is a walk at the first node of orbit i that goes to node v.

    `state`, `following`: the state before and after. `port`: the port, -1 where a walk
    stays. `arc`: orbit and port in one number, -1 where a walk stays.
    """

    state: IntArray
    following: IntArray
    port: IntArray
    arc: IntArray


def shortest_moves(
    lift: Lift, rounds: Sequence[int], *, waits: bool = True
) -> list[WalkMoves] | None:
    """Return the moves of all walks of fewest hops, round by round.

    Returns moves of walks from every orbit to all nodes; walks that have arrived have
    none. ``None`` if some node is out of reach.
    """
    ports = len(lift.heads)
    after = _states_after(lift)
    lit = lit_ports(ports, rounds)
    count = after.shape[1]
    arrived = np.arange(lift.orbits) * (lift.ranks + lift.group.order)
    hops = np.full((len(lit) + 1, count), count, dtype=np.int64)
    hops[-1, arrived] = 0
    for index in range(len(lit) - 1, -1, -1):
        moved = hops[index + 1][after[lit[index]]].min(axis=0) + 1
        hops[index] = np.minimum(hops[index + 1], np.minimum(moved, count))
    if hops[0].max() >= count:
        return None
    here = np.setdiff1d(np.arange(count), arrived)
    found = []
    for index, group in enumerate(lit):
        left, reached = hops[index, here], after[group][:, here]
        port, row = np.nonzero(hops[index + 1][reached] == left - 1)
        may_stay = (hops[index + 1, here] == left) & waits
        stays = np.flatnonzero(may_stay)
        state = np.concatenate([here[row], here[stays]])
        following = np.concatenate([reached[port, row], here[stays]])
        port = np.concatenate([port + group.start, np.full(len(stays), -1)])
        arc = np.where(port < 0, -1, state // lift.ranks * ports + port)
        found.append(WalkMoves(state, following, port, arc))
        here = np.setdiff1d(following, arrived)
    return found


def least_load(moves: Sequence[WalkMoves]) -> float:
    """Return the least sum over rounds of what the busiest arc carries.

    Of one unit from every orbit to each node, divided in any way.

    `moves`: walkMoves of each round, as `shortest_moves` gives them.
    """
    from scipy.optimize import linprog

    program = _program(moves, 1)
    found = linprog(
        program.cost,
        A_ub=program.most,
        b_ub=np.zeros(program.most.shape[0]),
        A_eq=program.equal,
        b_eq=program.given,
        method="highs-ds",
    )
    assert found.success, found.message
    return float(found.fun)


def whole_amounts(moves: Sequence[WalkMoves], pieces: int) -> list[IntArray] | None:
    """Return how many pieces make each move, shape (moves,) for each round.

    The sum over rounds of what the busiest arc carries is the least that an integer
    program finds without branching: nearly always within a piece of `least_load`.
    ``None`` where it finds nothing.

    `moves`: walkMoves of each round, as `shortest_moves` gives them. `pieces`: pieces
    of every block, 1 or more.
    """
    from scipy.optimize import LinearConstraint, milp

    program = _program(moves, pieces)
    found = milp(
        program.cost,
        integrality=np.ones_like(program.cost),
        constraints=[
            LinearConstraint(program.most, ub=np.zeros(program.most.shape[0])),
            LinearConstraint(program.equal, program.given, program.given),
        ],
        options={"node_limit": 1, "mip_rel_gap": 0.0},
    )
    if found.x is None:
        return None
    ends = np.cumsum([len(one.state) for one in moves])
    amounts = np.rint(found.x[: ends[-1]]).astype(np.int64)
    return np.split(amounts, ends[:-1])


@dataclass(frozen=True, eq=False)
class _Program:
    """Amounts of all moves, round by round, then the largest load of each round."""

    cost: FloatArray
    most: csr_array
    equal: csr_array
    given: FloatArray


def _program(moves: Sequence[WalkMoves], amount: int) -> _Program:
    """Return that all that comes to a state leaves it, and no arc carries too much."""
    from scipy.sparse import csr_array

    offset = np.cumsum([0, *(len(one.state) for one in moves)])
    equal = _Entries([], [], [])
    most = _Entries([], [], [])
    given: list[FloatArray] = []
    rows = arcs = 0
    for index, one in enumerate(moves):
        column = offset[index] + np.arange(len(one.state))
        here, row = np.unique(one.state, return_inverse=True)
        equal.add(rows + row, column, 1)
        given.append(np.full(len(here), 0.0 if index else amount))
        if index:
            before = moves[index - 1].following
            arrives = np.flatnonzero(np.isin(before, here))
            into = rows + np.searchsorted(here, before[arrives])
            equal.add(into, offset[index - 1] + arrives, -1)
        moving = np.flatnonzero(one.arc >= 0)
        used, row = np.unique(one.arc[moving], return_inverse=True)
        most.add(arcs + row, column[moving], 1)
        largest = np.full(len(used), offset[-1] + index)
        most.add(arcs + np.arange(len(used)), largest, -1)
        rows, arcs = rows + len(here), arcs + len(used)
    columns = int(offset[-1]) + len(moves)
    cost = np.zeros(columns)
    cost[offset[-1] :] = 1.0
    return _Program(
        cost,
        csr_array(most.placed(), shape=(arcs, columns)),
        csr_array(equal.placed(), shape=(rows, columns)),
        np.concatenate(given),
    )


class _Entries(NamedTuple):
    """Entries of a sparse matrix."""

    row: list[IntArray]
    column: list[IntArray]
    value: list[FloatArray]

    def add(self, row: IntArray, column: IntArray, value: float) -> None:
        """Add entries of one value."""
        self.row.append(row)
        self.column.append(column)
        self.value.append(np.full(len(row), value))

    def placed(self) -> tuple[FloatArray, tuple[IntArray, IntArray]]:
        """Return values, and their rows and columns."""
        place = np.concatenate(self.row), np.concatenate(self.column)
        return np.concatenate(self.value), place


def _states_after(lift: Lift) -> IntArray:
    """Return the state after each port is taken, shape (ports, states)."""
    group, ranks = lift.group, lift.ranks
    orbit, element = np.divmod(np.arange(ranks, dtype=np.int64), group.order)
    after = np.empty((len(lift.heads), lift.orbits, ranks), dtype=np.int64)
    for port, head in enumerate(lift.heads):
        for here, end in enumerate(head):
            other, step = divmod(end, group.order)
            back = group.inverse(np.array([step], dtype=np.int64))
            seen = orbit * group.order + group.product(back, element)
            after[port, here] = other * ranks + seen
    return after.reshape(len(lift.heads), -1)


def lit_ports(ports: int, rounds: Sequence[int]) -> list[slice]:
    """Return the ports that are lit in each round.

    `rounds`: rounds of each configuration, which has an equal share of the ports.
    """
    each = ports // len(rounds)
    return [
        slice(index * each, (index + 1) * each)
        for index, count in enumerate(rounds)
        for _ in range(count)
    ]


def expected_hop_sum(ranks: int, degree: int, rounds: Sequence[int]) -> int | None:
    """Return about the sum of hops to all ranks, or ``None`` if some are out of reach.

    There are degree**h ways of h hops within a configuration, and ways through several
    follow one another. w ways to u ranks that are no nearer reach a share of them of
    1 - (u / (u + w))**3, as measured on the digraphs that `nearest_lift` finds, and
    never more than w.
    """
    ways = [1]
    for count in rounds:
        longer = [0] * (len(ways) + count)
        for hops, number in enumerate(ways):
            for more in range(count + 1):
                longer[hops + more] += number * degree**more
        ways = longer
    left = ranks - 1 - min(ranks - 1, ways[1])
    total = ranks - 1 - left
    for hops, number in enumerate(ways[2:], 2):
        missed = left**4 // (left + number) ** 3
        reached = min(number, left - missed)
        left, total = left - reached, total + hops * reached
    return None if left else total


_SWEEPS = 4
"""Times that all items choose: a later choice sees what all others have chosen."""


def even_split(fits: npt.NDArray[np.bool_], pieces: int) -> IntArray:
    """Return how many pieces of each item every arc takes, the largest load the least.

    Whole items choose one after another, which evens out smaller loads too. Where that
    is not enough: a maximum flow from items to arcs for each load that is tried; then
    cycles of split items are undone, so that fewer items than there are arcs remain
    split.

    `fits`: whether an arc may take an item, shape (items, arcs); each item has one.
    `pieces`: equal pieces of an item, 1 or more.

    Returns pieces, shape (items, arcs); each row sums to `pieces`. Deterministic.
    """
    items, arcs = fits.shape
    if not items:
        return np.zeros((0, arcs), dtype=np.int64)
    low = -(-items * pieces // arcs)
    if pieces == 1:
        options = [np.flatnonzero(able)[:, None] for able in fits]
        chosen, load = even_choice(options, arcs)
        if load.max() == low:
            taken = [rows[one, 0] for rows, one in zip(options, chosen, strict=True)]
            return np.eye(arcs, dtype=np.int64)[taken]
    high = items * pieces
    best = _flow(fits, pieces, low)
    if best is not None:
        return _few_splits(best)
    while high - low > 1:
        middle = (low + high) // 2
        found = _flow(fits, pieces, middle)
        if found is None:
            low = middle
        else:
            high, best = middle, found
    return _few_splits(_flow(fits, pieces, high) if best is None else best)


def _flow(fits: npt.NDArray[np.bool_], pieces: int, load: int) -> IntArray | None:
    """Return amounts with no more than `load` on an arc, ``None`` if there are none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    items, arcs = fits.shape
    item, arc = np.nonzero(fits)
    sink = items + arcs + 1
    tail = np.concatenate(
        [np.zeros(items, dtype=np.int64), 1 + item, 1 + items + np.arange(arcs)]
    )
    head = np.concatenate(
        [1 + np.arange(items), 1 + items + arc, np.full(arcs, sink, dtype=np.int64)]
    )
    amount = np.concatenate(
        [np.full(items + len(item), pieces), np.full(arcs, load)]
    ).astype(np.int32)
    graph = csr_array((amount, (tail, head)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, 0, sink)
    if found.flow_value < items * pieces:
        return None
    amounts: IntArray = found.flow[1 : 1 + items, 1 + items : sink].toarray()
    return np.maximum(amounts, 0).astype(np.int64)


def _few_splits(amounts: IntArray | None) -> IntArray:
    """Return amounts with the same loads whose split items form no cycle with arcs."""
    assert amounts is not None
    amounts = amounts.copy()
    items = len(amounts)
    # Kept entries form a forest; an entry that closes a cycle is shifted along it.
    neighbours: dict[int, dict[int, None]] = {}
    for item, arc in np.argwhere((amounts > 0) & _is_split(amounts)).tolist():
        while amounts[item, arc]:
            path = _path(neighbours, item, items + arc)
            if path is None:
                neighbours.setdefault(item, {})[items + arc] = None
                neighbours.setdefault(items + arc, {})[item] = None
                break
            _shift(amounts, neighbours, item, arc, path)
    return amounts


def _is_split(amounts: IntArray) -> npt.NDArray[np.bool_]:
    """Return, for each item, whether several arcs share it; shape (items, 1)."""
    split: npt.NDArray[np.bool_] = (amounts > 0).sum(axis=1, keepdims=True) > 1
    return split


def _path(
    neighbours: dict[int, dict[int, None]], start: int, end: int
) -> list[int] | None:
    """Return the nodes from `start` to `end` in a forest, if there is a way."""
    came_from = {start: start}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here == end:
            path = [end]
            while path[-1] != start:
                path.append(came_from[path[-1]])
            return path[::-1]
        for other in neighbours.get(here, ()):
            if other not in came_from:
                came_from[other] = here
                waiting.append(other)
    return None


def _shift(
    amounts: IntArray,
    neighbours: dict[int, dict[int, None]],
    item: int,
    arc: int,
    path: list[int],
) -> None:
    """Move as much as can be along a cycle, so that one of its entries is empty.

    The cycle is the path from the item to the arc, closed by their own entry. Entries
    lose and gain in turn, beginning with that one, so loads stay as they are.
    """
    items = len(amounts)
    steps = [(min(pair), max(pair) - items) for pair in pairwise(path)]
    losing, gaining = [(item, arc), *steps[1::2]], steps[0::2]
    moved = min(int(amounts[entry]) for entry in losing)
    for entry in losing:
        amounts[entry] -= moved
    for entry in gaining:
        amounts[entry] += moved
    for one, other in losing[1:]:
        if not amounts[one, other]:
            del neighbours[one][items + other], neighbours[items + other][one]


def even_choice(
    options: Sequence[IntArray], counters: int
) -> tuple[IntArray, IntArray]:
    """Choose one of the options of every item so that counters are loaded evenly.

    Those with fewest options choose first; every choice is made again, a few times,
    where its counters have most room: by the sum of cubes of the loads.

    `options`: for each item the options it has, at least one: rows of counters that
    each raises by one, none twice, shape (options, counters of the item).

    Returns which option each item takes, and the loads of the counters.
    """
    chosen = np.zeros(len(options), dtype=np.int64)
    load = np.zeros(counters, dtype=np.int64)
    order = sorted(range(len(options)), key=lambda item: len(options[item]))
    for sweep in range(_SWEEPS):
        for item in order:
            rows = options[item]
            if sweep:
                if len(rows) == 1:
                    continue
                load[rows[chosen[item]]] -= 1
            so_far = load[rows]
            # The difference of the cubes is 3 x (x + 1) + 1. Equals take turns.
            cost = np.roll((so_far * (so_far + 1)).sum(axis=1), -chosen[item] - 1)
            taken = int(cost.argmin() + chosen[item] + 1) % len(rows)
            chosen[item] = taken
            load[rows[taken]] += 1
    return chosen, load
