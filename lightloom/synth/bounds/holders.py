"""The search for prices of what is heard while few hold it: a linear program each."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.holders import (
    BOUND,
    Prices,
    asked,
    far_ps,
    portions_ps,
)
from lightloom.validate.certificates.completion_time.streams import stream_ps, streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Collective, Task
    from lightloom.instances.instance import AnyFabric

_NO_TABLES: Witness = {
    "portions": [],
    "weights": [],
    "root_weights": [],
    "multipliers": [],
}
_MOST_PORTIONS = 16
"""Portions for which prices are looked for: the linear program has a price for each
pair of them."""
_FINE = 2**30
"""The largest weight that a portion has in all, in whole numbers."""
_MORE = 2**5
"""Added to weights for what the solver and rounding miss."""


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return tables where they say more than other kinds, or none."""
    tables = _tables(fabric, task)
    return _quick(fabric, task) if tables is None else tables


def _quick(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return no tables, which is enough for streams."""
    return _NO_TABLES if streams(fabric, task) else None


def _tables(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return prices for the numbers of portions that could be the best."""
    question = asked(fabric, task)
    if question is None:
        return None
    circuits, collective = question
    ranks, ports = collective.rank_count, circuits.ports_per_node
    if ranks <= ports + 1:
        return None  # all may hear from the root at once
    tables: dict[int, Prices] = {}
    best: int | None = None
    for portions in range(1, _MOST_PORTIONS + 1):
        fixed_ps = portions_ps(circuits, ranks, portions)
        if fixed_ps is None:
            continue
        if best is not None and far_ps(circuits, collective, portions) >= best:
            break
        prices = _prices(ranks - 1, ports, portions)
        if prices is None:
            break
        tables[portions] = prices
        bits = collective.buffer_bytes * BITS_PER_BYTE
        size_ps = bits * PS_PER_S / circuits.node_bits_per_s
        time_ps = fixed_ps + int(size_ps * prices.data_time(ranks - 1, ports))
        best = time_ps if best is None else min(best, time_ps)
    if not tables:
        return None
    every = [tables[count] for count in sorted(tables)]
    witness: Witness = {
        "portions": sorted(tables),
        "weights": [one for table in every for row in table.weights for one in row],
        "root_weights": [one for table in every for one in table.root_weights],
        "multipliers": [one for table in every for one in table.multipliers],
    }
    # Where it says no more than what needs no witness, it says nothing.
    bound_ps = BOUND.prove(circuits, collective, witness)
    return witness if bound_ps > _usual_ps(circuits, collective) else None


def _usual_ps(fabric: CircuitFabric, collective: Collective) -> int:
    """Return what the other bounds on portions and bytes say."""
    best = stream_ps(fabric, collective) if streams(fabric, collective) else 0
    for kind in ("sums", "planes"):
        try:
            best = max(best, BOUND_KINDS[kind].prove(fabric, collective, {}))
        except WitnessError:
            continue
    return best


@functools.lru_cache(maxsize=64)
def _prices(others: int, ports: int, portions: int) -> Prices | None:
    """Return the prices that prove most for so many portions."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    entries: list[tuple[int, int, float]] = []
    allowed: list[float] = []
    program = _Program(others, ports, portions)
    for limit, terms in program.rows():
        entries += [(len(allowed), column, value) for column, value in terms]
        allowed.append(limit)
    row, column, value = (np.array(one) for one in zip(*entries, strict=True))
    size = len(allowed), program.unknowns
    matrix = coo_array((value, (row, column)), shape=size).tocsr()
    gain = np.zeros(program.unknowns)
    gain[-1] = -1.0
    # What is saved, and the cheapest class, may have either sign.
    free = [(0.0, None)] * program.saved(0) + [(None, None)] * (portions + 1)
    found = linprog(gain, A_ub=matrix, b_ub=allowed, bounds=free, method="highs")
    if not found.success:
        return None
    whole = np.floor(np.maximum(found.x, 0.0) * _FINE).astype(np.int64).tolist()
    every = range(portions)
    # Prices that miss a slope by a little would make it grow from portion to portion.
    return Prices(
        [[whole[program.weight(u, s)] + _MORE for s in every[u:]] for u in every],
        [whole[program.root(s)] for s in every],
        [whole[program.slope(u, portions)] for u in every],
    )


@dataclass(frozen=True)
class _Program:
    """The linear program of `_prices`, class by class.

    Unknowns: weights, slopes before each portion and what the root's sends save in it,
    weights of the root, what the first portion of each class saves, and the cost of
    the cheapest class, in this order.
    """

    others: int
    ports: int
    portions: int

    @property
    def _pairs(self) -> int:
        return self.portions * (self.portions + 1) // 2

    def _pair(self, u: int, s: int) -> int:
        return u * self.portions - u * (u - 1) // 2 + s - u

    def weight(self, u: int, s: int) -> int:
        """Return the place of w(u, s)."""
        return self._pair(u, s)

    def slope(self, u: int, s: int) -> int:
        """Return the place of the slope of class u before portion s, for s > u."""
        return self._pairs + self._pair(u, s - 1)

    def sent(self, u: int, s: int) -> int:
        """Return the place of what class u saves by what the root sends in s > u."""
        return 2 * self._pairs + self._pair(u, s)

    def root(self, s: int) -> int:
        """Return the place of z(s)."""
        return 3 * self._pairs + s

    def saved(self, u: int) -> int:
        """Return the place of what class u saves in portion u."""
        return 3 * self._pairs + self.portions + u

    @property
    def unknowns(self) -> int:
        """How many there are."""
        return 3 * self._pairs + 2 * self.portions + 1

    def rows(self) -> Iterator[tuple[float, list[tuple[int, float]]]]:
        """Yield limits, and the terms that must not add up to more."""
        for s in range(self.portions):
            heard = [
                min(self.others, (self.ports + 1) ** (s - u)) for u in range(s + 1)
            ]
            terms = [(self.weight(u, s), float(heard[u])) for u in range(s + 1)]
            yield 1.0, [(self.root(s), 1.0), *terms]
        for u in range(self.portions):
            yield from self._of_class(u)

    def _of_class(self, u: int) -> Iterator[tuple[float, list[tuple[int, float]]]]:
        fan, last, every = float(self.ports), self.portions, range(u + 1)
        for s in range(u + 1, last):
            now, then = self.slope(u, s), self.slope(u, s + 1)
            price = [(self.weight(w, s), -fan) for w in every]
            yield 0.0, [(then, 1.0), (now, -1.0)]
            yield 0.0, [(then, 1.0 + fan), (now, -1.0), *price]
            root = [(self.sent(u, s), -1.0), (self.root(s), -fan)]
            yield 0.0, [(then, fan), *root, *price]
        for count in (1.0, fan):
            price = [(self.weight(w, u), -count) for w in every]
            root = [(self.saved(u), -1.0), (self.root(u), -count)]
            yield 0.0, [(self.slope(u, u + 1), count), *root, *price]
        sent = [(self.sent(u, s), 1.0) for s in range(u + 1, last)]
        whole = (self.slope(u, last), -float(self.others))
        yield 0.0, [(self.unknowns - 1, 1.0), whole, (self.saved(u), 1.0), *sent]


SEARCHES = WitnessSearch("holders", _find, long=True, quick=_quick)
"""The search for prices of what is heard while few hold it."""
