"""The search for lengths of links that prove most: by classes, cuts and hops.

For data with one destination a linear program over the lengths of classes, its rows
shortest ways found one after another; else lengths of 1 on a class or two.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.synth.bounds.link_classes import link_classes
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.message_costs import (
    MOST_LENGTH,
    MOST_RANKS,
    PairRoutes,
    least_cost,
)
from lightloom.validate.certificates.completion_time.requirements import (
    Mask,
    requirements_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


_MOST_TOGETHER = 24
"""Classes up to which two at a time are tried too."""
_MOST_ROWS = 60
_MOST_DENOMINATOR = 1000
_FINE = 2**20


@dataclass(frozen=True, eq=False)
class LinkQuestion:
    """A collective on a packet fabric, with the classes of its links.

    `links`, `number`: as `link_classes` returns them, the root marked. `kind`: the same
    where all ranks are alike, shape (links,). `rates`: sum of the rates of each class,
    in bits per second, shape (classes,).
    """

    needs: CollectiveNeeds
    routes: PairRoutes
    links: IntArray
    number: IntArray
    kind: IntArray
    rates: FloatArray

    @classmethod
    def of(cls, fabric: AnyFabric, task: Task) -> LinkQuestion | None:
        """Return the question, ``None`` where it is none or too large."""
        if not isinstance(fabric, PacketFabric) or not isinstance(task, Collective):
            return None
        if not 1 < task.rank_count <= MOST_RANKS:
            return None
        needs = requirements_of(task, fabric.node_count)
        assert isinstance(needs, CollectiveNeeds)
        routes = PairRoutes.of(fabric, task.nodes)
        links, kind = link_classes(fabric, routes, None)
        number = kind
        if op_of(task).rooted:
            _, number = link_classes(fabric, routes, task.root_rank)
        rate = fabric.link_bits_per_s(links).astype(np.float64)
        rates = np.zeros(int(number.max()) + 1)
        np.add.at(rates, number, rate)
        return cls(needs, routes, links, number, kind, rates)

    @cached_property
    def place(self) -> IntArray:
        """The place among `links` of each row of the routes, shape (rows,)."""
        return np.searchsorted(self.links, self.routes.link)

    def turned(self) -> LinkQuestion:
        """Return the question with all messages turned around."""
        src, dst = np.divmod(self.routes.pair, self.routes.ranks)
        pair = dst * self.routes.ranks + src
        return replace(self, routes=replace(self.routes, pair=pair))

    def crossed(self, some: Mask) -> IntArray:
        """Return how many of some links each message crosses, shape (n, n).

        `some`: whether each link counts, shape (links,).
        """
        return self.routes.costs(some[self.place].astype(np.int64))

    def costs(self, length: IntArray) -> IntArray:
        """Return the costs of messages, shape (n, n)."""
        rows = np.concatenate(
            [self.class_rows[kind] for kind in np.flatnonzero(length)]
        )
        some = replace(self.routes, pair=self.routes.pair[rows])
        return some.costs(length[self.number[self.place[rows]]])

    @cached_property
    def class_rows(self) -> list[IntArray]:
        """The rows of the routes that are on links of each class."""
        number = self.number[self.place]
        ends = np.cumsum(np.bincount(number, minlength=len(self.rates)))
        return np.split(np.argsort(number, kind="stable"), ends[:-1])

    def worth(self, length: IntArray) -> float:
        """Return the least cost over what a second carries."""
        return least_cost(self.needs, self.costs(length)) / float(length @ self.rates)

    def best_lengths(self) -> IntArray | None:
        """Return the lengths of classes that prove most, ``None`` where none do."""
        tried = list(_few_classes(len(self.rates)))
        if not self.needs.reduces and (self.needs.wanted == 1).all():
            tried.append(_longest_ways(self))
        best = max(tried, key=self.worth)
        return best if self.worth(best) else None

    def with_length(self, length: IntArray) -> tuple[IntArray, IntArray]:
        """Return the links that have a length, and their lengths, shape (rows,)."""
        every = length[self.number]
        kept = np.flatnonzero(every)
        return self.links[kept], every[kept]


def _few_classes(classes: int) -> Iterator[IntArray]:
    """Yield lengths of 1 on all classes, and on one or two."""
    yield np.ones(classes, dtype=np.int64)
    for size in (1, 2) if classes <= _MOST_TOGETHER else (1,):
        for some in itertools.combinations(range(classes), size):
            length = np.zeros(classes, dtype=np.int64)
            length[list(some)] = 1
            yield length


def _longest_ways(question: LinkQuestion) -> IntArray:
    """Return lengths that make the shortest ways of all data longest.

    Rows are what the data put on each class if they take the ways that are shortest
    by the lengths found before.
    """
    from scipy.optimize import linprog

    scale = question.rates / question.rates.sum()
    rows: list[FloatArray] = []
    best, most = np.ones(len(scale), dtype=np.int64), 0.0
    length = np.ones(len(scale))
    for _ in range(_MOST_ROWS if question.routes.ranks <= 128 else _MOST_ROWS // 8):
        load = _loads(question, length)
        if float(load @ length) > most * (1 + 1e-9):
            best, most = _whole(length), float(load @ length)
        rows.append(load)
        # Variables: lengths, and what all rows allow.
        matrix = np.hstack([-np.array(rows), np.ones((len(rows), 1))])
        found = linprog(
            np.append(np.zeros(len(scale)), -1.0),
            A_ub=matrix,
            b_ub=np.zeros(len(rows)),
            A_eq=np.append(scale, 0.0)[None, :],
            b_eq=[1.0],
            method="highs-ds",
        )
        if not found.success or -found.fun <= most * (1 + 1e-9):
            break
        length = np.maximum(found.x[:-1], 0.0)
    return best


def _loads(question: LinkQuestion, length: FloatArray) -> FloatArray:
    """Return what each class carries when data take shortest ways, per unit of all."""
    from scipy.sparse.csgraph import shortest_path

    ranks = question.routes.ranks
    kind = question.number[question.place]
    cost = np.bincount(question.routes.pair, length[kind], minlength=ranks**2)
    # Fewer messages among ways of equal length; no message is free.
    cost = (cost + 1e-7 * length.sum()).reshape(ranks, ranks)
    _, before = shortest_path(cost, return_predecessors=True)
    needs = question.needs
    src, now, chunks = needs.origin, needs.owner, needs.chunks
    used = np.zeros(ranks**2)
    while len(now):
        moving = src != now
        src, now, chunks = src[moving], now[moving], chunks[moving]
        previous = before[src, now].astype(np.int64)
        np.add.at(used, previous * ranks + now, chunks)
        now = previous
    carried = np.zeros(len(question.rates))
    np.add.at(carried, kind, used[question.routes.pair])
    return carried / float(needs.chunks.sum())


def _whole(length: FloatArray) -> IntArray:
    """Return integers in the same proportions: exact ones where they are simple."""
    shares = [
        Fraction(one).limit_denominator(_MOST_DENOMINATOR)
        for one in (length / length.max()).tolist()
    ]
    common = math.lcm(*(share.denominator for share in shares))
    near = [float(share) for share in shares]
    if common <= MOST_LENGTH and np.allclose(near, length / length.max(), atol=1e-9):
        return np.array([int(share * common) for share in shares], dtype=np.int64)
    rounded: IntArray = np.rint(length / length.max() * _FINE).astype(np.int64)
    return rounded
