"""Networks of ranks, the links that messages cross, and algorithms fitted to them."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.algorithms import CollectiveAlgorithm, require_op
from lightloom.plans.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


_MOST_IMAGES = 48
"""All of a box of three equal digits."""


@dataclass(frozen=True, eq=False)
class RankNetwork:
    """What messages between ranks load, as replay of fabrics without circuits does.

    Attributes
    ----------
    ranks
        Their number n; pair u n + v leads from rank u to rank v.
    pair, link
        A row for each link of each pair's route, shape (rows,); links from 0.
    ps_per_byte
        Time of a byte on each link, shape (links,).
    step_ps
        What a round costs before any byte moves.
    shape
        Box of the ranks, the last digit fastest: adding digits to all ranks maps
        routes to routes. Empty for none.
    """

    ranks: int
    pair: IntArray
    link: IntArray
    ps_per_byte: FloatArray
    step_ps: int
    shape: tuple[int, ...] = ()

    @classmethod
    def full(cls, ranks: int) -> RankNetwork:
        """Return ranks that all send and receive at one rate, to whomever they like.

        The same object for the same number, by which searches know what they found.
        """
        return _full(ranks)

    def turned(self) -> RankNetwork:
        """Return the network with all messages turned around, always the same one.

        Itself where that only names links otherwise: what is searched serves both ways.
        """
        return self if self._turned is None else self._turned

    @cached_property
    def _turned(self) -> RankNetwork | None:
        src, dst = np.divmod(self.pair, self.ranks)
        turned = replace(self, pair=dst * self.ranks + src)
        marks = [sorted(link_marks(one.message_ps())) for one in (self, turned)]
        return None if marks[0] == marks[1] else turned

    @cached_property
    def linked(self) -> bool:
        """Whether each link is the whole way from some rank to another."""
        direct = np.bincount(self.pair, minlength=self.ranks**2)[self.pair] == 1
        return len(np.unique(self.link[direct])) == len(self.ps_per_byte)

    def strides(self) -> tuple[int, ...]:
        """Return how far on each rank of a ring has links to, all of one rate.

        None where links join some ranks otherwise, or ranks stand in no ring.
        """
        direct = np.bincount(self.pair, minlength=self.ranks**2) == 1
        if len(self.shape) != 1 or len(np.unique(self.ps_per_byte)) > 1:
            return ()
        src, dst = np.divmod(np.flatnonzero(direct), self.ranks)
        stride, count = np.unique((dst - src) % self.ranks, return_counts=True)
        return tuple(stride.tolist()) if (count == self.ranks).all() else ()

    def costs(self) -> FloatArray:
        """Return the time of a byte on all links from u to v, shape (n, n)."""
        cost = np.zeros(self.ranks**2)
        np.add.at(cost, self.pair, self.ps_per_byte[self.link])
        return cost.reshape(self.ranks, self.ranks)

    def message_ps(self) -> csr_array:
        """Return the time of a byte of each message on each link, (n * n, links)."""
        from scipy.sparse import csr_array

        value = self.ps_per_byte[self.link]
        shape = self.ranks**2, len(self.ps_per_byte)
        return csr_array((value, (self.pair, self.link)), shape=shape)

    def arc_links(self, src: int, dst: int) -> IntArray:
        """Return the links from a rank to another, shape (links on the way,).

        Parameters
        ----------
        src, dst
            The ranks.
        """
        links, starts = self._by_pair
        pair = src * self.ranks + dst
        return links[starts[pair] : starts[pair + 1]]

    @cached_property
    def _by_pair(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.pair, kind="stable")
        bounds = np.arange(self.ranks**2 + 1)
        return self.link[order], np.searchsorted(self.pair[order], bounds)

    @cached_property
    def link_class(self) -> IntArray:
        """The class of each link, shape (links,): translations keep to classes."""
        mark = self.differences().reshape(-1)[self.pair].astype(np.uint64)
        count = np.zeros(len(self.ps_per_byte), dtype=np.uint64)
        np.add.at(count, self.link, (mark + np.uint64(1)) ** np.uint64(5))
        _, rate = np.unique(self.ps_per_byte, return_inverse=True)
        both = np.stack([count, rate.reshape(-1).astype(np.uint64)])
        _, found = np.unique(both, axis=1, return_inverse=True)
        classes: IntArray = found.reshape(-1).astype(np.int64)
        return classes

    def translated_load(self, src: int, dst: int) -> dict[int, float]:
        """Return the time of a byte on links of each class, sent by all ranks.

        Parameters
        ----------
        src, dst
            An arc, of which all ranks send over a translation: links of a class carry
            the same.
        """
        size = np.bincount(self.link_class)
        load: dict[int, float] = {}
        for link in self.arc_links(src, dst).tolist():
            group = int(self.link_class[link])
            time = float(self.ps_per_byte[link]) * self.ranks / int(size[group])
            load[group] = load.get(group, 0.0) + time
        return load

    def load(self, src: int, dst: int) -> dict[int, float]:
        """Return the time of a byte on each link from a rank to another.

        Parameters
        ----------
        src, dst
            The ranks.
        """
        links = self.arc_links(src, dst).tolist()
        return {link: float(self.ps_per_byte[link]) for link in links}

    def digits(self) -> IntArray:
        """Return the digits of each rank in the box, shape (digits, n)."""
        rank = np.arange(self.ranks, dtype=np.int64)
        return np.array(np.unravel_index(rank, self.shape))

    def images(self, root: int, message_ps: csr_array) -> IntArray:
        """Return permutations that leave the root as it is and map loads to loads.

        Mirrored digits and digits in another order, as seen from the root: all for up
        to three digits, and some where there are more.

        Parameters
        ----------
        root
            A rank.
        message_ps
            What messages load, as of `message_ps`, or of many ranks together.

        Returns
        -------
        Shape (images, n), the identity first; it alone where there is no box.
        """
        rank = np.arange(self.ranks, dtype=np.int64)
        if not self.shape:
            return rank[None, :]
        size, digits = np.array(self.shape)[:, None], self.digits()
        away, cost = (digits - digits[:, [root]]) % size, self.costs()
        found = {rank.tobytes(): rank}
        src, dst = np.divmod(np.arange(self.ranks**2), self.ranks)
        links = sorted(link_marks(message_ps))
        for order, signs in itertools.product(
            itertools.permutations(range(len(size))),
            itertools.product((1, -1), repeat=len(size)),
        ):
            if len(found) == _MOST_IMAGES:
                break
            if (size[list(order)] != size).any():
                continue
            moved = away[list(order)] * np.array(signs)[:, None]
            ends = (moved + digits[:, [root]]) % size
            image = np.ravel_multi_index(tuple(ends), self.shape).astype(np.int64)
            key = image.tobytes()
            if key in found or not np.allclose(cost[np.ix_(image, image)], cost):
                continue
            moved = message_ps[image[src] * self.ranks + image[dst]]
            if sorted(link_marks(moved)) == links:
                found[key] = image
        return np.stack(list(found.values()))

    def sums(self) -> IntArray:
        """Return u + v, digit by digit, shape (n, n)."""
        digits, sizes = self.digits(), np.array(self.shape)[:, None, None]
        both = (digits[:, :, None] + digits[:, None, :]) % sizes
        found: IntArray = np.ravel_multi_index(tuple(both), self.shape).astype(np.int64)
        return found

    def differences(self) -> IntArray:
        """Return v - u, digit by digit, as [u, v]."""
        digits, sizes = self.digits(), np.array(self.shape)[:, None, None]
        both = (digits[:, None, :] - digits[:, :, None]) % sizes
        found: IntArray = np.ravel_multi_index(tuple(both), self.shape).astype(np.int64)
        return found


@functools.lru_cache(maxsize=16)
def _full(ranks: int) -> RankNetwork:
    """Return ranks that all send and receive at one rate."""
    src, dst = np.nonzero(~np.eye(ranks, dtype=np.bool_))
    pair = src * ranks + dst
    link = np.concatenate([src, ranks + dst])
    once = np.ones(2 * ranks)
    return RankNetwork(ranks, np.tile(pair, 2), link, once, 0, (ranks,))


def link_marks(message_ps: csr_array) -> list[bytes]:
    """Return by which messages, and how long by a byte, each link is loaded."""
    columns = message_ps.tocsc()
    columns.sort_indices()
    value = np.round(columns.data, 9)
    return [
        columns.indices[start:end].tobytes() + value[start:end].tobytes()
        for start, end in itertools.pairwise(columns.indptr.tolist())
    ]


_FINENESS = 2**14


class NetworkAlgorithm(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A collective algorithm whose rounds follow from a network of the ranks.

    `plan` serves ranks that all send and receive at one rate.
    """

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return enough chunks a rank for parts of any size."""
        del ports
        return ranks * _FINENESS

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds on the network of ranks that are all alike."""
        del ports
        return self._fitted(collective, RankNetwork.full(collective.rank_count))

    def plan_on(self, collective: Collective, network: RankNetwork) -> Plan:
        """Return the rounds on a network.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its root and its chunk count
            chosen.
        network
            Of its ranks.

        Raises
        ------
        InputError
            If the operation is not one of `ops`, or the algorithm needs ranks that
            look alike and the network has no shape.
        """
        require_op(self, collective)
        if collective.rank_count == 1:
            return Plan(collective, ())
        return Plan(collective, tuple(self._fitted(collective, network)))

    @abstractmethod
    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        """Return the rounds of two ranks or more on a network."""


class Fitted(CollectiveAlgorithm, frozen=True):
    """An algorithm on the network that it is fitted to: no record of a catalogue."""

    algorithm: NetworkAlgorithm
    network: RankNetwork

    @property
    def ops(self) -> tuple[str, ...]:
        """See `NetworkAlgorithm`."""
        return self.algorithm.ops

    def _chunks(self, ranks: int, ports: int) -> int:
        return self.algorithm.granularity(ranks, ports)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; the network says what ranks drive at once."""
        del ports
        return self.algorithm.plan_on(collective, self.network).rounds
