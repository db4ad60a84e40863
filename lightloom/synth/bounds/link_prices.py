"""The search for lengths of links that prove most: by classes, cuts and hops.

For data with one destination a linear program over the lengths of classes, its rows
shortest ways found one after another; else lengths of 1 on a class or two.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.validate.certificates.completion_time.link_steps import (
    FLOWS,
    stream_ps,
    streams,
)
from lightloom.validate.certificates.completion_time.message_costs import (
    MOST_LENGTH,
    MOST_RANKS,
    PairRoutes,
    free_groups,
    least_cost,
)
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    Mask,
    requirements_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.completion_time.link_steps import Ways


_MOST_TOGETHER = 24
"""Classes up to which two at a time are tried too."""
_MOST_ROWS = 60
"""Costs of messages that the program has at most, each from the prices of the one
before; an eighth of it above 128 ranks, where each is long to compute."""
_MOST_DENOMINATOR = 1000
"""Of simple lengths, as at vertices of the program."""
_FINE = 2**20
"""The largest length where none are simple: as whole numbers lengths are off by a part
in a million."""


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

    @functools.cached_property
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

    @functools.cached_property
    def class_rows(self) -> list[IntArray]:
        """The rows of the routes that are on links of each class."""
        number = self.number[self.place]
        ends = np.cumsum(np.bincount(number, minlength=len(self.rates)))
        return np.split(np.argsort(number, kind="stable"), ends[:-1])

    def worth(self, length: IntArray) -> float:
        """Return the least cost over what a second carries."""
        return least_cost(self.needs, self.costs(length)) / float(length @ self.rates)

    def best_lengths(self) -> tuple[IntArray, IntArray] | None:
        """Return links and the lengths that prove most, ``None`` where none do."""
        tried = list(_few_classes(len(self.rates)))
        if not self.needs.reduces and (self.needs.wanted == 1).all():
            tried.append(_longest_ways(self))
        worth = [self.worth(length) for length in tried]
        if not max(worth):
            return None
        every = tried[worth.index(max(worth))][self.number]
        kept = np.flatnonzero(every)
        return self.links[kept], every[kept]


def best_lengths(
    fabric: PacketFabric, task: Collective
) -> tuple[IntArray, IntArray] | None:
    """Return links and the lengths that prove most, the last few from memory."""
    if isinstance(fabric, Hashable):
        return _kept_lengths(fabric, task)
    question = LinkQuestion.of(fabric, task)
    return None if question is None else question.best_lengths()


@functools.lru_cache(maxsize=4)
def _kept_lengths(
    fabric: Hashable, task: Collective
) -> tuple[IntArray, IntArray] | None:
    assert isinstance(fabric, PacketFabric)
    question = LinkQuestion.of(fabric, task)
    return None if question is None else question.best_lengths()


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


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def link_classes(
    fabric: PacketFabric, routes: PairRoutes, root: int | None
) -> tuple[IntArray, IntArray]:
    """Return the links of a collective's routes, and the class of each.

    Classes begin as rates of links and as the root among the ranks, and are refined by
    the links of pairs, the pairs of ranks and the pairs of links until nothing
    changes. Lengths that depend on the class alone are as good as any: the average
    over all ways in which classes look the same keeps the bound.

    Returns distinct links, ascending, and numbers of classes from 0 in the order of
    their first links, shape (links,) both.
    """
    links, place = np.unique(routes.link, return_inverse=True)
    colour = _mixed(fabric.link_bits_per_s(links).astype(np.uint64))
    ranks = routes.ranks
    rank_colour = np.zeros(ranks, dtype=np.uint64)
    if root is not None:
        rank_colour[root] = 1
    src, dst = np.divmod(np.arange(ranks**2, dtype=np.int64), ranks)
    count = 0
    while True:
        found, number = np.unique(colour, return_inverse=True)
        if len(found) == count:
            first = np.full(count, len(links), dtype=np.int64)
            np.minimum.at(first, number, np.arange(len(links)))
            order = np.argsort(np.argsort(first))
            return links, order[number]
        count = len(found)
        ends = _mixed(rank_colour[src]) + _mixed(_mixed(rank_colour[dst]))
        pair_colour = _mixed(ends + _summed(routes.pair, colour[place], ranks**2))
        out, into = _summed(src, pair_colour, ranks), _summed(dst, pair_colour, ranks)
        rank_colour = _mixed(rank_colour + _mixed(out) + _mixed(_mixed(into)))
        colour = _mixed(colour + _summed(place, pair_colour[routes.pair], len(links)))


def _mixed(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return numbers that look random, the same for the same values."""
    mixed = (value + np.uint64(1)) * _MULTIPLIER
    mixed ^= mixed >> _SHIFT
    mixed *= _MULTIPLIER
    mixed ^= mixed >> _SHIFT
    return mixed


def _summed(
    where: IntArray, value: npt.NDArray[np.uint64], size: int
) -> npt.NDArray[np.uint64]:
    """Return a number for each multiset of values that come to one place."""
    total = np.zeros(size, dtype=np.uint64)
    np.add.at(total, where, _mixed(value))
    return total


def links_near_root(
    task: Collective, ways: Ways, links: IntArray, kind: IntArray, relation: IntArray
) -> IntArray:
    """Return links in groups by kind, and how the ends of a message stand to the root.

    Of all messages over a link, of one between ranks that are nearest to each other.

    `links`, `kind`: distinct links, ascending, and the kind of each, shape (links,).
    `relation`: how ranks stand to each other, shape (n, n).
    """
    flow = FLOWS[task.op]
    if not flow.rooted:
        _, group = np.unique(kind, return_inverse=True)
        return group.astype(np.int64)
    src, dst = np.divmod(ways.routes.pair, ways.routes.ranks)
    if flow.turned:
        src, dst, relation = dst, src, relation.T
    width, root = int(relation.max()) + 1, task.root_rank
    key = (relation[src, dst] * width + relation[root, src]) * width
    least = np.full(len(links), width**3)
    place = np.searchsorted(links, ways.routes.link)
    np.minimum.at(least, place, key + relation[root, dst])
    both = np.stack([kind, least])
    _, group = np.unique(both, axis=1, return_inverse=True)
    return group.reshape(-1).astype(np.int64)


def stream_witness(fabric: PacketFabric, task: Collective) -> Witness | None:
    """Return the best pair of links into groups and out of the root's."""
    question = LinkQuestion.of(fabric, task) if streams(task) else None
    if question is None:
        return None
    tried = [
        (
            stream_ps(fabric, question.needs, question.routes, witness, 2),
            -place,
            witness,
        )
        for place, witness in enumerate(_witnesses(question))
    ]
    return max(tried, key=lambda one: one[:2])[2] if tried else None


def _witnesses(question: LinkQuestion) -> Iterator[Witness]:
    """Yield the links into groups by links of one kind, with those out of the root's.

    A reduce is a broadcast with all messages turned around.
    """
    if question.needs.reduces:
        question = question.turned()
    root = question.needs.collective.root_rank
    seen: set[bytes] = set()
    for kind in range(-1, int(question.kind.max()) + 1):
        some = (question.kind == kind) | (kind < 0)
        group = free_groups(question.crossed(some))
        inside = group == group[root]
        if group.tobytes() in seen or inside.all():
            continue
        seen.add(group.tobytes())
        into = needed_links(question, some, (group[:, None] != group) & ~inside)
        out = needed_links(question, some, inside[:, None] & ~inside)
        if into is None or out is None:
            continue
        yield {
            "out": question.links[out].tolist(),
            "into": question.links[into].tolist(),
        }


def needed_links(question: LinkQuestion, some: Mask, pairs: Mask) -> Mask | None:
    """Return few of some links such that messages of all these pairs cross one.

    Classes of links are left out while that holds, in two orders: the least used for
    their rate first, or the largest.

    `some`: the links that may be chosen, shape (links,). `pairs`: the messages that
    count, shape (n, n).

    Returns shape (links,); ``None`` where even all the links are too few.
    """
    crossed, wanted = question.crossed(some).reshape(-1), pairs.reshape(-1)
    if not crossed[wanted].all():
        return None
    used = wanted[question.routes.pair].astype(np.int64)
    load = np.bincount(question.place, used, len(question.links))
    worth = np.bincount(question.number, load * some) / question.rates
    found: list[tuple[float, Mask]] = []
    for order in (worth, -question.rates):
        kept, left = some, crossed.copy()
        for number in np.argsort(order, kind="stable").tolist():
            rows = question.class_rows[number]
            rows = rows[some[question.place[rows]]]
            pair, times = np.unique(question.routes.pair[rows], return_counts=True)
            if (left[pair] > times)[wanted[pair]].all():
                left[pair] -= times
                kept = kept & (question.number != number)
        rate = float(question.rates[np.unique(question.number[kept])].sum())
        found.append((rate, kept))
    return min(found, key=lambda one: one[0])[1]
