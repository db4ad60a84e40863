"""How much takes which port of a lift in each round, so that ports are loaded evenly.

A state is where a walk is, seen from the first node of its orbit, and where it goes.
All walks of a state are alike, whatever node of the orbit they are at and wherever they
began, so an all-to-all is amounts of states. Ports come in as many groups as there are
configurations in turn; a walk takes a port that is lit, or stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lightloom.plans.digraphs.ports_in_turn import lit_ports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.plans.digraphs.lift import Lift


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
