"""What messages cost by prices of what they use, and what tasks must cost at least.

What is claimed of a task is a sum over its data, whatever messages carry them. On a
packet fabric the route of a message depends on its two ends alone, so it costs the sum
of the prices of its links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import exact_sums
from lightloom.core.fabric import step_ps
from lightloom.core.units import transmission_ps
from lightloom.validate.certificates.witness import WitnessError, numbers, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.task import Collective
    from lightloom.validate.certificates.completion_time.requirements import (
        CollectiveNeeds,
    )

MOST_RANKS = 512
"""Ranks whose pairs are looked at one by one."""
MOST_LENGTH = 2**24
"""Largest length: sums along the ways of a tree stay below 2**63."""


@dataclass(frozen=True, eq=False)
class PairRoutes:
    """The links between every two ranks of a collective.

    `ranks`: their number n; pair u n + v leads from rank u to rank v. `pair`, `link`: a
    row for each link of each pair's route, shape (rows,).
    """

    ranks: int
    pair: IntArray
    link: IntArray

    @classmethod
    def of(cls, fabric: PacketFabric, nodes: tuple[int, ...]) -> PairRoutes:
        """Return the routes between all nodes of a collective.

        Raises `WitnessError`: with more than `MOST_RANKS` of them.
        """
        count = len(nodes)
        if count > MOST_RANKS:
            message = f"{count} ranks, allowed up to {MOST_RANKS}"
            raise WitnessError(message)
        node = np.array(nodes, dtype=np.int64)
        src, dst = np.nonzero(~np.eye(count, dtype=np.bool_))
        usage = fabric.link_usage(node[src], node[dst])
        return cls(count, (src * count + dst)[usage.circuit], usage.resource)

    def costs(self, length: IntArray) -> IntArray:
        """Return what a byte from u to v costs, shape (n, n), 0 on the diagonal.

        `length`: of the link of each row, shape (rows,), from 0 to `MOST_LENGTH`.
        """
        cost = np.zeros(self.ranks**2, dtype=np.int64)
        np.add.at(cost, self.pair, length)
        return cost.reshape(self.ranks, self.ranks)


@dataclass(frozen=True, eq=False)
class LinkLengths:
    """Lengths of some links, read from a witness.

    `link`, `length`: distinct links, ascending, and their lengths, shape (links,).
    `rate`: sum of length times rate of the link, in bits per second.
    """

    link: IntArray
    length: IntArray
    rate: int

    @classmethod
    def read(
        cls,
        witness: Witness,
        keys: tuple[str, str | None],
        fabric: PacketFabric,
        routes: PairRoutes,
    ) -> LinkLengths:
        """Return the lengths of a witness, or raise `WitnessError`.

        `keys`: where the links stand, and where their lengths; ``None`` if all are 1.
        """
        links, lengths = keys
        link = rows(witness, links, 0)
        length = np.ones_like(link)
        if lengths is not None:
            length = numbers(witness, lengths, 1, MOST_LENGTH)
        if len(length) != len(link):
            message = f"{links} and {lengths} are not equally many"
            raise WitnessError(message)
        order = np.argsort(link, kind="stable")
        link, length = link[order], length[order]
        if not len(link) or (link[1:] == link[:-1]).any():
            message = f"{links} names no link, or one twice"
            raise WitnessError(message)
        if not np.isin(link, routes.link).all():
            message = f"{links} names a link that no route uses"
            raise WitnessError(message)
        rated = zip(fabric.link_bits_per_s(link).tolist(), length.tolist(), strict=True)
        return cls(link, length, sum(rate * units for rate, units in rated))

    def costs(self, routes: PairRoutes) -> IntArray:
        """Return what a byte between every two ranks costs, shape (n, n)."""
        return routes.costs(self.of_rows(routes.link))

    def of_rows(self, link: IntArray) -> IntArray:
        """Return the lengths of links, 0 of those that have none, shape (rows,)."""
        place = np.minimum(np.searchsorted(self.link, link), len(self.link) - 1)
        return np.where(self.link[place] == link, self.length[place], 0)

    def data_ps(self, cost: int) -> int:
        """Return the least data time of all steps together that this much cost takes.

        In a step whose data last t, a link of rate r carries r t bits at most. So the
        bits of the step, each counted with the length of its way, are at most
        `rate` times t.

        `cost`: sum of bytes times the lengths on their way.
        """
        return transmission_ps(cost, self.rate)


def least_cost(needs: CollectiveNeeds, cost: IntArray) -> int:
    """Return the least cost of the messages of a collective, in chunks times length.

    Per chunk at least the distance between two ranks, over any others, for what one has
    and one other needs; a tree from the rank that has it for what all need
    (`tree_costs`), and a tree to the rank that needs it for what is summed up there; a
    tree to a rank, and a message to each other one, for what all need the sum of
    (`gossip_cost`). Chunks that several ranks need, but not all, are left out, which
    keeps the answer a lower bound.

    `cost`: of a message between two ranks, shape (n, n), 0 on the diagonal.
    """
    if len(cost) == 1:
        return 0
    to_one = needs.wanted == 1
    total = shared_cost(needs, cost, np.arange(len(cost), dtype=np.int64))
    if not needs.reduces and to_one.any():
        ways = _ways(cost, needs.origin[to_one], needs.owner[to_one])
        total += sum_products(ways, needs.chunks[to_one])
    return total


def shared_cost(needs: CollectiveNeeds, cost: IntArray, group: IntArray) -> int:
    """Return what `least_cost` says of data that many need, or that are summed up.

    `cost`: of a message between two groups of ranks that reach one another for nothing,
    shape (groups, groups), 0 on the diagonal. `group`: of each rank, shape (n,).
    """
    to_all, to_one = needs.wanted == needs.collective.rank_count, needs.wanted == 1
    total = 0
    if needs.reduces and to_all.any():
        total += gossip_cost(cost) * int(needs.chunks[to_all].sum())
    if needs.reduces and to_one.any():
        back = np.ascontiguousarray(cost.T)
        total += _trees(back, group[needs.owner[to_one]], needs.chunks[to_one])
    if not needs.reduces and to_all.any():
        total += _trees(cost, group[needs.origin[to_all]], needs.chunks[to_all])
    return total


def _ways(cost: IntArray, src: IntArray, dst: IntArray) -> IntArray:
    """Return the least costs of ways, at once where all end or begin at one rank."""
    if (dst == dst[0]).all():
        return distances_to(cost, int(dst[0]))[src]
    if (src == src[0]).all():
        return distances_to(np.ascontiguousarray(cost.T), int(src[0]))[dst]
    return distances(cost)[src, dst]


def _trees(cost: IntArray, source: IntArray, chunks: IntArray) -> int:
    """Return the cost of trees from the sources of some chunks."""
    only = int(source[0]) if (source == source[0]).all() else None
    return sum_products(tree_costs(cost, only)[source], chunks)


def sum_products(cost: IntArray, amount: IntArray) -> int:
    """Return the sum of costs times amounts, exactly; shape (rows,) both."""
    costs, place = np.unique(cost, return_inverse=True)
    totals = exact_sums(place, amount, len(costs))
    return sum(int(value) * total for value, total in zip(costs, totals, strict=True))


def lengths_ps(
    fabric: PacketFabric,
    needs: CollectiveNeeds,
    routes: PairRoutes,
    witness: Witness,
    keys: tuple[str, str],
    steps: int,
) -> int:
    """Return what schedules of so many steps or more take at least.

    Raises `WitnessError`: the links and lengths are not right.
    """
    lengths = LinkLengths.read(witness, keys, fabric, routes)
    cost = least_cost(needs, lengths.costs(routes)) * needs.collective.chunk_bytes
    return steps * step_ps(fabric) + lengths.data_ps(cost)


def distances(cost: IntArray) -> IntArray:
    """Return the least cost of messages one after another from u to v, shape (n, n).

    `cost`: of one message, shape (n, n), 0 on the diagonal.
    """
    least = cost.copy()
    for middle in range(len(cost)):
        np.minimum(least, least[:, middle, None] + least[middle], out=least)
    return least


def distances_to(cost: IntArray, rank: int) -> IntArray:
    """Return the column of `distances` of one rank, shape (n,).

    By the ways of one message, of up to two, of up to three, until longer ones are no
    cheaper (Bellman and Ford).

    `cost`: of one message, shape (n, n), 0 on the diagonal.
    """
    least = cost[:, rank].copy()
    while True:
        nearer: IntArray = (cost + least).min(axis=1)
        if (nearer == least).all():
            return least
        least = nearer


def tree_costs(cost: IntArray, root: int | None = None) -> IntArray:
    """Return what messages at least cost that bring data of each rank to all ranks.

    A set of ranks that the data are not in at first must be entered by a message. So
    with prices of sets such that the sets that a message enters cost no more than the
    message, the prices of all sets without the source are a bound. Each set of a
    partition is given the price of the cheapest message into it, what was paid is
    taken off, and sets that reach one another for nothing become one (the algorithm of
    Chu, Liu and Edmonds, with the same prices for all sources).

    `cost`: of a message, shape (n, n), from 0; 0 on the diagonal. `root`: the only
    source that matters, for which the bound then is exact; ``None`` for all.

    Returns by source, shape (n,).
    """
    ranks = len(cost)
    left = cost.copy()
    if root is not None:
        left[:, root] = 0  # nothing need enter a set with the root
    total = np.zeros(ranks, dtype=np.int64)
    member = np.arange(ranks, dtype=np.int64)
    while len(left) > 1:
        price = _prices(left)
        total += price.sum() - price[member]
        left = left - price
        group = free_groups(left)
        left, member = _joined(left, group), group[member]
    return total


def gossip_cost(cost: IntArray) -> int:
    """Return what messages at least cost after which all ranks know of all.

    Ranks that reach one another for nothing count as one. Let messages come one after
    another, which only spreads more, and v be the first to know of all: the messages
    up to then lead from every other to v, a tree with time reversed, and each other
    one gets a message later still.

    `cost`: of a message, shape (n, n), from 0; 0 on the diagonal.
    """
    cost = _joined(cost, free_groups(cost))
    if len(cost) == 1:
        return 0
    price = _prices(cost)
    into = tree_costs(np.ascontiguousarray(cost.T))
    return int((into + price.sum() - price).min())


def _prices(cost: IntArray) -> IntArray:
    """Return the cost of the cheapest message to each from another, shape (n,)."""
    others = cost + np.where(np.eye(len(cost), dtype=np.bool_), cost.max(), 0)
    least: IntArray = others.min(axis=0)
    return least


def free_groups(cost: IntArray) -> IntArray:
    """Return the group of each rank: those that reach one another for nothing.

    `cost`: of a message, shape (n, n).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    free = csr_array(cost <= 0)
    _, group = connected_components(free, directed=True, connection="strong")
    joined: IntArray = group.astype(np.int64)
    return joined


def _joined(cost: IntArray, group: IntArray) -> IntArray:
    """Return the cheapest messages between groups, 0 within one."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(group.max() + 1))
    least = np.minimum.reduceat(cost[order], first, axis=0)
    least = np.minimum.reduceat(least[:, order], first, axis=1)
    np.fill_diagonal(least, 0)
    return least


def one_step_ps(fabric: PacketFabric, needs: CollectiveNeeds) -> int:
    """Return how long the one schedule of a single step lasts.

    Nothing is forwarded in a single step: whoever needs a chunk gets it from its only
    holder, or from all contributors one by one. What else is sent takes no less.
    """
    collective = needs.collective
    pair_bytes = _pair_bytes(needs, collective)
    src, dst = np.nonzero(pair_bytes)
    base_ps = fabric.alpha_ps + fabric.latency_ps
    if not len(src):
        return 0
    node = np.array(collective.nodes, dtype=np.int64)
    usage = fabric.link_usage(node[src], node[dst])
    links, place = np.unique(usage.resource, return_inverse=True)
    load = np.zeros(len(links), dtype=np.int64)
    np.add.at(load, place, pair_bytes[src, dst][usage.circuit])
    loaded = zip(load.tolist(), fabric.link_bits_per_s(links).tolist(), strict=True)
    chunk_bytes = collective.chunk_bytes
    return base_ps + max(
        transmission_ps(chunks * chunk_bytes, rate) for chunks, rate in loaded
    )


def _pair_bytes(needs: CollectiveNeeds, collective: Collective) -> IntArray:
    """Return the chunks from each rank to each in a single step, shape (n, n)."""
    ranks = collective.rank_count
    moved = np.zeros((ranks, ranks), dtype=np.int64)
    final = needs.final
    ends = np.concatenate([[0], np.cumsum(needs.chunks)])
    if needs.reduces:
        held = ends[final.hi] - ends[final.lo]
        np.add.at(moved.T, final.rank, held[:, None])
    else:
        ranges = zip(
            final.rank.tolist(), final.lo.tolist(), final.hi.tolist(), strict=True
        )
        for rank, lo, hi in ranges:
            np.add.at(moved[:, rank], needs.origin[lo:hi], needs.chunks[lo:hi])
    np.fill_diagonal(moved, 0)
    return moved
