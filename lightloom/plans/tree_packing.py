"""Spanning trees of few steps, and how much of a buffer each takes: column generation.

A linear program divides a buffer, or the block of each rank, among trees such that the
busiest links of all steps together are busy least; its prices of links in each step say
which tree would help most, and a local search looks for that one.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy.sparse import csr_array

    from lightloom.core.columns import IntArray
    from lightloom.plans.rank_network import RankNetwork

    FloatArray = npt.NDArray[np.float64]

__all__ = ["TreePacking", "packed_trees"]

_ROUNDS = 50
_FEWER_ROUNDS = 24
_FEWEST_ROUNDS = 17
_FEW_RANKS = 32
"""Ranks up to which the search goes on for longer."""
_MANY_IMAGES = 32
"""Images times steps beyond which linear programs are large, and it ends earlier."""
_SETTLED = 8
_KEPT = 4
_FRESH = 4
_FIRST_MOVES = 6
_MOST_MOVES = 200
_LEAST_SHARE = 1e-4
"""Parts of the buffer that are left out: rounding would not leave them whole."""


@dataclass(frozen=True, eq=False)
class TreePacking:
    """Trees and their shares of the buffer.

    Attributes
    ----------
    heard
        The step in which each rank hears, from 1, 0 at the root; shape (trees, n).
    teller
        From whom, shape (trees, n); the root's own is any.
    share
        Part of the buffer, shape (trees,); they add up to 1.
    ps_per_byte
        How long all steps together are busy.
    """

    heard: IntArray
    teller: IntArray
    share: FloatArray
    ps_per_byte: float


@functools.lru_cache(maxsize=32)
def packed_trees(
    network: RankNetwork, root: int, steps: int, *, translated: bool = False
) -> TreePacking:
    """Return trees from a root whose links are evenly loaded.

    Parameters
    ----------
    network
        Of the ranks, two or more.
    root
        The rank that has the buffer.
    steps
        Most levels of a tree, 1 or more.
    translated
        Whether all other ranks have trees too, translations of those of the root; the
        network has a shape.
    """
    message_ps = _translated_ps(network) if translated else _message_ps(network)
    search = _Search(network, root, steps, network.images(root), message_ps)
    firsts = np.unique(search.images.min(axis=0)).tolist()
    alike = np.ones((steps, message_ps.shape[1]))
    for first in firsts:
        for moves in (0, _FIRST_MOVES):
            search.add(search.cheapest(alike, search.over(first), moves))
    price, share = alike, np.zeros(0)
    rounds = _ROUNDS
    if network.ranks > _FEW_RANKS:
        many = steps * len(search.images) > _MANY_IMAGES
        rounds = _FEWEST_ROUNDS if many else _FEWER_ROUNDS
    turn = idle = 0
    # Nothing new from any first rank, nor as prices settle: there is no more to find.
    enough = -(-len(firsts) // _FRESH) + _SETTLED
    for number in range(rounds):
        _, now, share = search.divided()
        price = (price + now) / 2 if number else now
        search.keep(np.flatnonzero(share > 0))
        share = share[share > 0]
        best = np.argsort(-share, kind="stable")[:_KEPT].tolist()
        fresh = [firsts[(turn + one) % len(firsts)] for one in range(_FRESH)]
        turn += _FRESH
        before = len(search.heard)
        starts = [search.heard[one] for one in best] + [*map(search.over, fresh)]
        for start in starts:
            search.add(search.cheapest(price, start, _MOST_MOVES))
        idle = idle + 1 if len(search.heard) == before else 0
        if idle == enough:
            break
    ps_per_byte, _, share = search.divided()
    kept = np.flatnonzero(share > _LEAST_SHARE)
    return TreePacking(
        np.array(search.heard)[kept],
        np.array(search.teller)[kept],
        share[kept] / share[kept].sum(),
        ps_per_byte,
    )


def _message_ps(network: RankNetwork) -> csr_array:
    """Return the time of a byte of each message on each link, shape (n * n, links)."""
    from scipy.sparse import csr_array

    value = network.ps_per_byte[network.link]
    shape = network.ranks**2, len(network.ps_per_byte)
    return csr_array((value, (network.pair, network.link)), shape=shape)


def _translated_ps(network: RankNetwork) -> csr_array:
    """Return the same on links of each class, if all ranks send such messages."""
    from scipy.sparse import csr_array

    loads = [network.translated_load(0, rank) for rank in range(network.ranks)]
    far = np.repeat(np.arange(network.ranks), [len(load) for load in loads])
    kind = np.concatenate([np.array(list(load), dtype=np.int64) for load in loads])
    value = np.concatenate([np.array(list(load.values())) for load in loads])
    shape = network.ranks, int(network.link_class.max()) + 1
    each = csr_array((value, (far, kind)), shape=shape)
    return each[network.differences().reshape(-1)]


@dataclass(eq=False)
class _Search:
    """Trees found so far, and what they load."""

    network: RankNetwork
    root: int
    steps: int
    images: IntArray
    message_ps: csr_array
    heard: list[IntArray] = field(default_factory=list)
    teller: list[IntArray] = field(default_factory=list)
    _loads: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    _known: set[bytes] = field(default_factory=set)

    def over(self, first: int) -> IntArray:
        """Return the steps of a tree in which one rank hears first, all others last.

        Over the root all hear last.
        """
        heard = np.full(self.network.ranks, self.steps)
        heard[first], heard[self.root] = 1, 0
        return heard

    def add(self, tree: tuple[IntArray, IntArray]) -> None:
        """Add a tree and its images, those that are new."""
        back = np.argsort(self.images, axis=1)
        heard: IntArray = tree[0][back]
        teller: IntArray = np.take_along_axis(self.images, tree[1][back], axis=1)
        teller[:, self.root] = self.root
        new = []
        for image, key in enumerate(map(bytes, np.hstack([heard, teller]))):
            if key not in self._known:
                self._known.add(key)
                new.append(image)
        if not new:
            return
        heard, teller = heard[new], teller[new]
        self.heard += list(heard)
        self.teller += list(teller)
        tree_at, others = np.nonzero(heard)
        ranks, links = heard.shape[1], self.message_ps.shape[1]
        arc = self.message_ps[teller[tree_at, others] * ranks + others].tocoo()
        place = (heard[tree_at, others][arc.row] - 1) * links + arc.col
        row = tree_at[arc.row] * (self.steps * links) + place
        rows, number = np.unique(row.astype(np.int64), return_inverse=True)
        load = np.bincount(number, arc.data).astype(np.float64)
        tree_of, places = np.divmod(rows, self.steps * links)
        ends = np.searchsorted(tree_of, np.arange(1, len(new)))
        parts = np.split(places, ends), np.split(load, ends)
        self._loads += list(zip(*parts, strict=True))

    def keep(self, trees: IntArray) -> None:
        """Forget all trees but some."""
        kept = trees.tolist()
        self.heard = [self.heard[one] for one in kept]
        self.teller = [self.teller[one] for one in kept]
        self._loads = [self._loads[one] for one in kept]

    def divided(self) -> tuple[float, FloatArray, FloatArray]:
        """Return the time of a byte, prices of links in steps, and shares of trees."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        links, trees = self.message_ps.shape[1], len(self.heard)
        places = self.steps * links
        step = np.arange(places) // links
        sizes = [len(place) for place, _ in self._loads]
        row = np.concatenate([*(place for place, _ in self._loads), np.arange(places)])
        column = np.concatenate([np.repeat(np.arange(trees), sizes), trees + step])
        value = np.concatenate([*(load for _, load in self._loads), -np.ones(places)])
        shape = places, trees + self.steps
        whole = np.repeat([1.0, 0.0], [trees, self.steps])
        found = linprog(
            1.0 - whole,
            A_ub=coo_array((value, (row, column)), shape=shape).tocsr(),
            b_ub=np.zeros(places),
            A_eq=whole[None, :],
            b_eq=[1.0],
            method="highs-ds",
        )
        assert found.success
        price = -found.ineqlin.marginals.reshape(self.steps, links)
        return float(found.fun), price, found.x[:trees]

    def cheapest(
        self, price: FloatArray, heard: IntArray, moves: int
    ) -> tuple[IntArray, IntArray]:
        """Return a tree that no change of the step of one rank makes cheaper.

        Parameters
        ----------
        price
            Of a link's time in each step, shape (steps, links).
        heard
            Steps to begin with; somebody hears in the first.
        moves
            Changes at most.
        """
        ranks = self.network.ranks
        each = (price + 1e-7 * price.max()).T
        cost: FloatArray = (self.message_ps @ each).T.reshape(self.steps, ranks, ranks)
        cost[:, self.root] *= 1 + 1e-6  # of two equal tellers not the root
        number = np.arange(ranks)
        cost[:, number, number] = np.inf
        while True:
            own: FloatArray = cost[heard - 1, :, number].T
            open_ = np.where(heard[:, None] < heard, own, np.inf)
            teller = open_.argmin(axis=0)
            if moves == 0:
                return heard, teller
            step, rank = self._change(cost, own, open_, teller, heard)
            if not step:
                return heard, teller
            heard = np.where(number == rank, step, heard)
            moves -= 1

    def _change(
        self,
        cost: FloatArray,
        own: FloatArray,
        open_: FloatArray,
        teller: IntArray,
        heard: IntArray,
    ) -> tuple[int, int]:
        """Return the step that one rank should hear in, 0 for none, and the rank."""
        number = np.arange(len(heard))
        least = open_[teller, number]
        second = open_.copy()
        second[teller, number] = np.inf
        # What others cost where a rank tells nobody, as [rank, other].
        without = np.where(teller == number[:, None], second.min(axis=0), least)
        without[:, self.root] = 0.0
        without[number, number] = 0.0
        total = np.full((self.steps + 1, len(heard)), np.inf)
        for step in range(1, self.steps + 1):
            told = np.where(heard > step, np.minimum(without, own), without)
            told[number, number] = 0.0
            hears = np.where((heard < step)[:, None], cost[step - 1], np.inf)
            total[step] = told.sum(axis=1) + hears.min(axis=0)
        total[:, self.root] = np.inf
        now = np.delete(least, self.root).sum()
        step, rank = divmod(int(total.argmin()), len(heard))
        better = total[step, rank] < now * (1 - 1e-9)
        return (step, rank) if better else (0, 0)
