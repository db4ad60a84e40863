"""Links of a packet fabric that play the same part in a collective."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.validate.certificates.proofs.step_potentials import FLOWS

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.task import Collective
    from lightloom.validate.certificates.completion_time.message_costs import PairRoutes
    from lightloom.validate.certificates.proofs.step_potentials import Ways

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
