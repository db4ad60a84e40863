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
from lightloom.plans.tree_shares import FEW_LOADS, divided, whole_shares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.plans.rank_network import RankNetwork


_ROUNDS = 60
_MORE_ROUNDS = 100
_FEW_RANKS = 32
"""Ranks up to which the search goes on for longer."""
_TREES = 8
"""Trees that are looked for at the prices of a round."""
_FEW_LOADS = 200
"""Links times steps up to which linear programs are small."""
_VERY_FEW_LOADS = 50
_LONG, _SHORT = (100, 150), (24, 0)
"""Last rounds, and trees that are kept from one to the next, of those with a share all:
for very few loads, and for more."""
_PATIENCE = 24
_LAST_TREES = 12
_LITTLE = 1e-7
_HEAT = 4
_SHAKEN, _MORE = 0.1, 0.03
"""Parts of a price, and of the highest, by which prices are changed at random, and up
to how many times as much."""
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

    `heard`: the step in which each rank hears, from 1, 0 at the root; shape (trees, n).
    `teller`: from whom, shape (trees, n); the root's own is any. `share`: part of the
    buffer, shape (trees,); they add up to 1. `load`: time of a byte on links, shape
    (trees, steps, links).
    """

    heard: IntArray
    teller: IntArray
    share: FloatArray
    load: FloatArray

    @property
    def ps_per_byte(self) -> float:
        """How long all steps together are busy."""
        total = np.tensordot(self.share, self.load, 1)
        return float(total.max(axis=1).sum())

    def ends(self, units: int) -> IntArray:
        """Return where the part of each tree ends, in whole units, shape (trees,)."""
        return _ends(self, units)


@functools.lru_cache(maxsize=32)
def _ends(packing: TreePacking, units: int) -> IntArray:
    return np.cumsum(whole_shares(packing.load, packing.share, units))


@functools.lru_cache(maxsize=32)
def packed_trees(
    network: RankNetwork,
    root: int,
    steps: int,
    *,
    translated: bool = False,
    imaged: bool = True,
) -> TreePacking:
    """Return trees from a root whose links are evenly loaded.

    `network`: of the ranks, two or more. `steps`: most levels of a tree, 1 or more.
    `translated`: whether all other ranks have trees too, translations of those of the
    root; the network has a shape. `imaged`: whether all images of a tree take the same
    share, so buffers are cut fine.
    """
    message_ps = _translated_ps(network) if translated else network.message_ps()
    images = network.images(root, message_ps)
    firsts = np.unique(images.min(axis=0))
    if translated:
        images = _unlike(_averaged(message_ps, images[:1]), images)
    if not imaged:
        images = images[:1]
    search = _Search(_averaged(message_ps, images), steps, root)
    search.begin(firsts[firsts != root].tolist())
    rounds = _MORE_ROUNDS if network.ranks <= _FEW_RANKS else _ROUNDS
    for number in range(rounds):
        search.round(number / (rounds - 1))
    if network.ranks <= _FEW_RANKS or search.load[0].size <= _FEW_LOADS:
        search.finish()
    return _imaged(search, images, _averaged(message_ps, images[:1]))


def _translated_ps(network: RankNetwork) -> csr_array:
    """Return the time of a byte on each link if all ranks send such messages."""
    from scipy.sparse import csr_array

    far = network.differences().reshape(-1)
    value = network.ps_per_byte[network.link]
    shape = network.ranks, len(network.ps_per_byte)
    each = csr_array((value, (far[network.pair], network.link)), shape=shape)
    return each[far]


def _unlike(message_ps: csr_array, images: IntArray) -> IntArray:
    """Return the images by which some message loads other links, and the first."""
    ranks = images.shape[1]
    src, dst = np.divmod(np.arange(ranks**2), ranks)
    moved = [message_ps[image[src] * ranks + image[dst]] for image in images[1:]]
    unlike = [abs(one - message_ps).sum() > _LITTLE for one in moved]
    return images[[True, *unlike]]


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


def _loads(
    message_ps: csr_array, heard: IntArray, teller: IntArray, steps: int
) -> FloatArray:
    """Return what trees load, shape (trees, steps, links)."""
    links, ranks = message_ps.shape[1], heard.shape[1]
    tree, dst = np.nonzero(heard)
    arc = message_ps[teller[tree, dst] * ranks + dst].tocoo()
    step = tree * steps + heard[tree, dst] - 1
    place = step[arc.row] * links + arc.col
    load = np.bincount(place, arc.data, len(heard) * steps * links).astype(np.float64)
    return load.reshape((len(heard), steps, links))


@dataclass(eq=False)
class _Search:
    """Trees found so far, what each loads, and their shares.

    `message_ps`: time of a byte of each message on each link, shape (n * n, links).
    `load`: of each on each link in each step, shape (trees, steps, links). `share`: of
    the buffer, shape (trees,).
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
        """Add trees that are cheap now, and move shares to where loads are even."""
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
        self._only(np.flatnonzero(share > least), share)

    def _only(self, kept: IntArray, share: FloatArray) -> None:
        """Keep some trees, and give them all."""
        self.trees = [self.trees[one] for one in kept.tolist()]
        self.load, self.share = self.load[kept], share[kept] / share[kept].sum()

    def finish(self) -> None:
        """Add trees that are cheap at the prices of the linear program.

        The mean of the prices so far, and where nothing is gained by that, others
        near the mean, and near the last.
        """
        few = self.load[0].size <= _VERY_FEW_LOADS
        rounds, pool = _LONG if few else _SHORT
        mean: FloatArray | None = None
        idle, least = 0, np.inf
        shaken = np.random.default_rng(self.steps)
        for _ in range(rounds):
            value, now, share = divided(self.load)
            idle = 0 if value < least * (1 - _LITTLE) else idle + 1
            if idle == _PATIENCE:
                return
            least = min(least, value)
            mean = now if mean is None else (mean + now) / 2
            price = (mean, now)[idle // _HEAT % 2] if few else mean
            heat = idle % _HEAT if few else 0
            part = _SHAKEN * heat
            price = price * shaken.uniform(1 - part, 1 + part, now.shape)
            price += shaken.uniform(0, _MORE * heat, now.shape) * now.max()
            dear = np.tensordot(self.load, now, 2)
            dear[share > 0] = -1.0
            most = max(pool, np.count_nonzero(share > 0))
            self._only(np.argsort(dear, kind="stable")[:most], share)
            starts = self._starts(_LAST_TREES, _TREES // 2)
            cost = self._cost(price)
            self._add(cheapest_tree(cost, one, _MOST_MOVES) for one in starts)

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

    def _cost(self, price: FloatArray) -> FloatArray:
        """Return what messages cost, shape (steps, n, n).

        `price`: of a link's time in each step, shape (steps, links).
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
            self.load = np.concatenate(
                [self.load, _loads(self.message_ps, heard, teller, self.steps)]
            )
        return len(new)

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


def _imaged(search: _Search, images: IntArray, message_ps: csr_array) -> TreePacking:
    """Return all images of the trees, each with the same part of a tree's share."""
    for _ in range(2):  # those that are left make up for those that are left out
        share = divided(search.load)[2]
        if search.load.size > FEW_LOADS:
            search.keep(share, _LEAST_SHARE)
        else:
            search.share = share
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
    load = _loads(message_ps, heard, teller, search.steps)
    return TreePacking(heard, teller, total, load)
