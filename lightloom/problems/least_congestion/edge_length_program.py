"""The linear program of edge lengths: rows are walks, found as they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.problems.least_congestion.path_search import Walks
from lightloom.solvers import SOLVERS, SolveOptions
from lightloom.solvers.child import solve_in_child
from lightloom.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.problems.least_congestion.path_search import (
        RequestedPairs,
    )
    from lightloom.solvers.options import ExtraValue

_SOLVER = "highs"
_OPTIONS: dict[str, ExtraValue] = {
    "solver": "ipm",
    "run_crossover": "off",
    "ipm_iteration_limit": 200,
}
"""Interior points: these programs are so degenerate that simplex may take minutes,
and no vertex is needed."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class LengthProgram:
    """Largest sum of distances by edge lengths, as far as known walks tell.

    With d_k the distance of pair k, n_k its requests, l_e >= 0 lengths, c_e
    capacities: maximise sum n_k d_k subject to d_k <= sum of l_e over each known walk
    of k, and sum c_e l_e = 1. It is the dual of routing fractionally over the known
    walks at least congestion; more walks lower its optimum to that of all routes.

    `capacity`: of each edge, shape (edges,), positive.
    """

    def __init__(self, capacity: IntArray, pairs: RequestedPairs) -> None:
        self._capacity = capacity
        self._count = pairs.count
        self._walks = Walks.join([])
        self._known = np.zeros(0, dtype=np.int64)
        # A walk is known by a sum of codes that wraps round; collisions hardly occur.
        number = np.arange(1, len(capacity) + 2, dtype=np.uint64)
        mixed = number * _MIX
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        self._code: IntArray = (mixed ^ (mixed >> np.uint64(32))).view(np.int64)

    @property
    def entries(self) -> int:
        """Number of (walk, edge) entries."""
        return len(self._walks.edge)

    def add(self, walks: Walks) -> int:
        """Add the walks that are new, and return how many were."""
        key = (walks.pair + 1) * self._code[0]
        np.add.at(key, walks.walk, self._code[1:][walks.edge])
        distinct, first = np.unique(key, return_index=True)
        fresh = np.zeros(len(key), dtype=np.bool_)
        fresh[first[~np.isin(distinct, self._known)]] = True
        self._known = np.append(self._known, key[fresh])
        place = np.cumsum(fresh) - 1
        stays = fresh[walks.walk]
        new = Walks(walks.pair[fresh], place[walks.walk[stays]], walks.edge[stays])
        self._walks = Walks.join([self._walks, new])
        return int(fresh.sum())

    def solve(self, seed: int) -> tuple[FloatArray, float] | None:
        """Return lengths and optimum by HiGHS, or ``None`` if it has no answer.

        Floating point: nothing is proved by it. Every pair must have a walk.
        """
        form = self._form()
        options = SolveOptions(seed=seed, extra=_OPTIONS)
        adapter = SOLVERS[_SOLVER]
        answer = solve_in_child(adapter, form, options)
        if answer.values is None:
            return None
        length = np.maximum(answer.values[: len(self._capacity)], 0)
        scale = float(length @ self._capacity)
        return (length / scale, form.objective(answer.values)) if scale > 0 else None

    def _form(self) -> StandardForm:
        """Return the program: columns lengths, then distances; rows walks, then one."""
        from scipy.sparse import csr_array

        walks, edges = self._walks, len(self._capacity)
        rows = len(walks.pair)
        columns = edges + len(self._count)
        value = np.concatenate(
            [np.full(self.entries, -1.0), np.ones(rows), self._capacity]
        )
        row = np.concatenate([walks.walk, np.arange(rows), np.full(edges, rows)])
        column = np.concatenate([walks.edge, edges + walks.pair, np.arange(edges)])
        # A walk may use an edge twice: equal entries are added up.
        matrix = csr_array((value, (row, column)), shape=(rows + 1, columns))
        matrix.sort_indices()
        infinite = np.inf
        return StandardForm(
            cost=np.concatenate([np.zeros(edges), self._count.astype(np.float64)]),
            column_lower=np.zeros(columns),
            column_upper=np.full(columns, infinite),
            integral=np.zeros(columns, dtype=np.bool_),
            row_start=matrix.indptr.astype(np.int32),
            row_column=matrix.indices.astype(np.int32),
            row_value=matrix.data.astype(np.float64),
            row_lower=np.append(np.full(rows, -infinite), 1.0),
            row_upper=np.append(np.zeros(rows), 1.0),
            offset=0.0,
            maximise=True,
        )
