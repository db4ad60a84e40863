"""Spanning trees of few steps, and how much of a buffer each takes.

The busiest links of all steps together are to be busy least. A power mean stands for
the busiest link of a step, the higher the longer the search has gone on; shares of the
trees known so far are moved to where it falls (exponentiated gradients, Kivinen and
Warmuth 1997), its derivative is the price of a link in a step, and a local search looks
for trees that are cheap at these prices. At last a linear program divides the buffer.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.cheapest_tree import StepTree, cheapest_tree
from lightloom.plans.rank_network import link_marks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.plans.rank_network import RankNetwork


__all__ = ["TreePacking", "packed_trees"]

_ROUNDS = 60
_MORE_ROUNDS = 100
_FEW_RANKS = 32
"""Ranks up to which the search goes on for longer."""
_TREES = 8
"""Trees that are looked for at the prices of a round."""
_FEW_LOADS = 200
"""Links times steps up to which linear programs are small."""
_LAST_ROUNDS = 24
_LAST_TREES = 12
_IDLE_ROUNDS = 4
_FIRST_MOVES = 6
_MOST_MOVES = 200
_FIRST_POWER, _LAST_POWER = 4.0, 40.0
_MOVES = 12
"""Times that shares are moved in a round."""
_TRIES = 4
_NEW_SHARE = 0.02
"""Of the buffer, that new trees take together at first."""
_FARTHEST = 1.2
"""How far, in powers of e, the share of a tree goes at once."""
_IDLE = 1e-4
"""Load of a step, relative to the busiest, below which it is idle."""
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
    message_ps = _translated_ps(network) if translated else network.message_ps()
    images = network.images(root)
    firsts = np.unique(images.min(axis=0))
    if translated:
        # Few links are unlike, and few trees are cut into few bytes.
        images = images[:1]
    search = _Search(_averaged(message_ps, images), steps, root)
    search.begin(firsts[firsts != root].tolist())
    rounds = _MORE_ROUNDS if network.ranks <= _FEW_RANKS else _ROUNDS
    for number in range(rounds):
        search.round(number / (rounds - 1))
    if network.ranks <= _FEW_RANKS or search.load[0].size <= _FEW_LOADS:
        search.finish()
    return _imaged(search, images)


def _translated_ps(network: RankNetwork) -> csr_array:
    """Return the time of a byte on each link if all ranks send such messages."""
    from scipy.sparse import csr_array

    far = network.differences().reshape(-1)
    value = network.ps_per_byte[network.link]
    shape = network.ranks, len(network.ps_per_byte)
    each = csr_array((value, (far[network.pair], network.link)), shape=shape)
    return each[far]


def _averaged(message_ps: csr_array, images: IntArray) -> csr_array:
    """Return the mean over all images of a message, links that are alike once."""
    ranks = images.shape[1]
    src, dst = np.divmod(np.arange(ranks**2), ranks)
    total = message_ps[images[0][src] * ranks + images[0][dst]]
    for image in images[1:]:
        total = total + message_ps[image[src] * ranks + image[dst]]
    known: dict[bytes, int] = {}
    for link, found in enumerate(link_marks(total)):
        known.setdefault(found, link)
    return total.tocsc()[:, list(known.values())].tocsr() / len(images)


@dataclass(eq=False)
class _Search:
    """Trees found so far, what each loads, and their shares.

    Attributes
    ----------
    message_ps
        Time of a byte of each message on each link, shape (n * n, links).
    steps, root
        Of the trees.
    trees
        Those with a share.
    load
        Of each on each link in each step, shape (trees, steps, links).
    share
        Of the buffer, shape (trees,).
    """

    message_ps: csr_array
    steps: int
    root: int
    trees: list[StepTree] = field(default_factory=list)
    load: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    share: FloatArray = field(default_factory=lambda: np.zeros(0))
    _firsts: list[int] = field(default_factory=list)
    _turn: int = 0
    _known: set[bytes] = field(default_factory=set)

    @property
    def ranks(self) -> int:
        """How many there are."""
        return isqrt(self.message_ps.shape[0])

    def begin(self, firsts: list[int]) -> None:
        """Take trees over each of some ranks, all with the same share."""
        self._firsts = firsts
        links = self.message_ps.shape[1]
        self.load = np.zeros((0, self.steps, links))
        cost = self._cost(np.ones((self.steps, links)))
        for moves in (0, _FIRST_MOVES):
            starts = [self._over(first) for first in firsts]
            self._add(cheapest_tree(cost, start, moves) for start in starts)
        self.share = np.full(len(self.trees), 1 / len(self.trees))

    def _over(self, first: int, begin: int = 1) -> IntArray:
        """Return the steps of a tree in which one rank hears first, all others last."""
        heard = np.full(self.ranks, self.steps)
        heard[first], heard[self.root] = begin, 0
        return heard

    def round(self, done: float) -> None:
        """Add trees that are cheap now, and move shares to where loads are even.

        Parameters
        ----------
        done
            Part of the search that is over.
        """
        power = _FIRST_POWER * (_LAST_POWER / _FIRST_POWER) ** done
        starts = self._starts(_TREES // 2, _TREES // 2)
        cost = self._cost(self._level(self.share, power)[1])
        new = self._add(cheapest_tree(cost, start, _MOST_MOVES) for start in starts)
        if new:
            fresh = np.full(new, _NEW_SHARE / new)
            self.share = np.concatenate([self.share * (1 - _NEW_SHARE), fresh])
        for _ in range(_MOVES):
            self._move(power)
        self.keep(self.share, _LEAST_SHARE)

    def keep(self, share: FloatArray, least: float) -> None:
        """Keep the trees that have shares above the least, and give them all."""
        kept = np.flatnonzero(share > least)
        self.trees = [self.trees[one] for one in kept.tolist()]
        self.load, self.share = self.load[kept], share[kept] / share[kept].sum()

    def finish(self) -> None:
        """Add trees that are cheap at the prices of the linear program."""
        price: FloatArray | None = None
        idle = 0
        for _ in range(_LAST_ROUNDS):
            _, now, share = self.divided()
            price = now if price is None else (price + now) / 2
            self.keep(share, 0.0)
            cost = self._cost(price)
            starts = self._starts(_LAST_TREES, _TREES // 2)
            new = self._add(cheapest_tree(cost, one, _MOST_MOVES) for one in starts)
            idle = 0 if new else idle + 1
            if idle == _IDLE_ROUNDS:
                return

    def _starts(self, known: int, fresh: int) -> list[IntArray]:
        """Return the steps of so many trees of the largest shares, and of new ones."""
        best = np.argsort(-self.share, kind="stable")[:known].tolist()
        starts = [self.trees[one].heard for one in best]
        for turn in range(self._turn, self._turn + fresh):
            later, first = divmod(turn, len(self._firsts))
            begin = later % max(1, self.steps - 1) + 1
            starts.append(self._over(self._firsts[first], begin))
        self._turn += fresh
        return starts

    def divided(self) -> tuple[float, FloatArray, FloatArray]:
        """Return the time of a byte, prices of links in steps, and the best shares."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack, kron

        trees, steps, links = self.load.shape
        loads = csr_array(self.load.reshape(trees, -1).T)
        longest = kron(eye_array(steps), -np.ones((links, 1)))
        whole = np.repeat([1.0, 0.0], [trees, steps])
        found = linprog(
            1.0 - whole,
            A_ub=csr_array(hstack([loads, longest])),
            b_ub=np.zeros(steps * links),
            A_eq=whole[None, :],
            b_eq=[1.0],
            method="highs-ds",
        )
        assert found.success
        price = -found.ineqlin.marginals.reshape(steps, links)
        return float(found.fun), price, found.x[:trees]

    def _cost(self, price: FloatArray) -> FloatArray:
        """Return what messages cost, shape (steps, n, n).

        Parameters
        ----------
        price
            Of a link's time in each step, shape (steps, links).
        """
        ranks, each = self.ranks, (price + 1e-6 * price.max()).T
        cost: FloatArray = (self.message_ps @ each).T.reshape(self.steps, ranks, ranks)
        cost[:, self.root] *= 1 + 1e-6  # of two equal tellers not the root
        number = np.arange(ranks)
        cost[:, number, number] = np.inf
        return cost

    def _add(self, trees: Iterable[StepTree]) -> int:
        """Add the trees that are new, and return how many."""
        new = []
        for tree in trees:
            key = bytes(tree.heard) + bytes(tree.teller)
            if key not in self._known:
                self._known.add(key)
                new.append(tree)
        if new:
            self.trees += new
            heard = np.stack([tree.heard for tree in new])
            teller = np.stack([tree.teller for tree in new])
            self.load = np.concatenate([self.load, self._loads(heard, teller)])
        return len(new)

    def _loads(self, heard: IntArray, teller: IntArray) -> FloatArray:
        """Return what trees load, shape (trees, steps, links)."""
        links = self.load.shape[2]
        tree, dst = np.nonzero(heard)
        arc = self.message_ps[teller[tree, dst] * self.ranks + dst].tocoo()
        step = tree * self.steps + heard[tree, dst] - 1
        place = step[arc.row] * links + arc.col
        size = len(heard) * self.steps * links
        load = np.bincount(place, arc.data, size).astype(np.float64)
        return load.reshape((len(heard), self.steps, links))

    def _level(self, share: FloatArray, power: float) -> tuple[float, FloatArray]:
        """Return the sum over steps of the power mean of loads, and its derivative."""
        load = np.tensordot(share, self.load, 1)
        most = load.max(axis=1, keepdims=True)
        idle = most <= _IDLE * most.max()
        high = np.where(idle, most.max(), most)
        norm = high * ((load / high) ** power).sum(axis=1, keepdims=True) ** (1 / power)
        even = load.shape[1] ** (-1 / power)  # what an idle step's links could be
        price = np.where(idle, even, load / np.where(idle, 1.0, norm)) ** (power - 1)
        return float(norm[~idle].sum() + most[idle].sum()), price

    def _move(self, power: float) -> None:
        """Move shares to trees on links that are busy less."""
        level, price = self._level(self.share, power)
        cost = np.tensordot(self.load, price, 2)
        dearer = cost - self.share @ cost
        rate = _FARTHEST / max(1e-30, np.abs(dearer[self.share > _LEAST_SHARE]).max())
        for _ in range(_TRIES):
            share = self.share * np.exp(np.clip(-rate * dearer, -20, 3))
            share /= share.sum()
            if self._level(share, power)[0] < level:
                self.share = share
                return
            rate /= _TRIES


def _imaged(search: _Search, images: IntArray) -> TreePacking:
    """Return all images of the trees, each with the same part of a tree's share."""
    for _ in range(2):  # those that are left make up for those that are left out
        ps_per_byte, _, part = search.divided()
        search.keep(part, _LEAST_SHARE)
    share = np.repeat(search.share, len(images)) / len(images)
    back = np.argsort(images, axis=1)
    heard = np.concatenate([tree.heard[back] for tree in search.trees])
    told = [
        np.take_along_axis(images, tree.teller[back], axis=1) for tree in search.trees
    ]
    teller = np.concatenate(told)
    teller[:, search.root] = search.root
    both, which = np.unique(np.hstack([teller, heard]), axis=0, return_inverse=True)
    teller, heard = np.hsplit(both, 2)
    total = np.bincount(which.reshape(-1), share).astype(np.float64)
    return TreePacking(heard, teller, total, ps_per_byte)
