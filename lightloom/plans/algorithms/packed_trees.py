"""Spanning trees of few steps, and how much of a buffer each takes.

The busiest links of all steps together are to be busy least. A power mean stands for
the busiest link of a step, the higher the longer the search has gone on; shares of the
trees known so far are moved to where it falls (exponentiated gradients, Kivinen and
Warmuth 1997), its derivative is the price of a link in a step, and a local search looks
for trees that are cheap at these prices. At last a linear program divides the buffer.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.network import NetworkAlgorithm, link_marks
from lightloom.plans.plan import Round, reversed_rounds
from lightloom.plans.setting import FROM_ONE_ROOT
from lightloom.plans.step_program import Sends, translated_rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scipy.sparse import csr_array

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.network import RankNetwork
    from lightloom.plans.setting import Setting


_FINE_BLOCK = 2**14
"""Chunks of a block that all images of trees divide; fewer are divided among few."""
_MOST_STEPS = 32
"""The linear program grows with the steps; more gain nothing that was seen."""


class PackedTrees(NetworkAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Each part of the buffer goes along a spanning tree of its own, in few steps.

    Trees need not follow neighbours: a rank hears from any that heard in an earlier
    step. Trees are looked for, and the buffer is divided among them, such that the
    busiest links of all steps together are busy least. A reduce is the reversal.
    Where all ranks have a block for all, the trees of one are translated to the others.
    """

    ops: ClassVar[tuple[str, ...]] = (
        "all-gather",
        "all-reduce",
        "broadcast",
        "reduce",
        "reduce-scatter",
    )

    steps: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=_MOST_STEPS,
            description="Most steps, half of those of an all-reduce.",
        ),
    ] = 4

    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        if collective.op not in ("broadcast", "reduce"):
            block = -(-collective.chunk_count // collective.rank_count)
            sends = functools.partial(self._sends, block=block)
            return translated_rounds(collective, network, sends)
        reduces = collective.op == "reduce"
        used = network.turned() if reduces else network
        root = collective.root_rank
        place = np.arange(network.ranks)
        if used.shape:  # trees from any root are translations of those from rank 0
            root, place = 0, used.sums()[root]
        packing = packed_trees(used, root, self.steps)
        hi = packing.ends(collective.chunk_count)
        lo = np.concatenate([[0], hi[:-1]])
        rounds = []
        for step in range(1, self.steps + 1):
            tree, dst = np.nonzero((packing.heard == step) & (lo < hi)[:, None])
            if len(tree):
                src, dst = place[packing.teller[tree, dst]], place[dst]
                port = (dst - src) % network.ranks - 1
                code = np.full(len(tree), int(Op.COPY), dtype=np.int64)
                rounds.append(Round(src, dst, lo[tree], hi[tree], code, port))
        return reversed_rounds(rounds, Op.REDUCE) if reduces else rounds

    def _sends(self, network: RankNetwork, block: int) -> Sends:
        """Return how the block of rank 0, so many chunks, goes along its trees."""
        fine = block >= _FINE_BLOCK
        packing = packed_trees(network, 0, self.steps, translated=True, imaged=fine)
        hi = packing.ends(block)
        lo = np.concatenate([[0], hi[:-1]])
        tree, dst = np.nonzero(packing.heard)
        src, step = packing.teller[tree, dst], packing.heard[tree, dst] - 1
        return Sends(step, src, dst, lo[tree] / block, hi[tree] / block)


_ROUNDS = 60
_FEW_RANKS = 32
"""Ranks up to which the search ends with linear programs."""
_FEW_BLOCK_ROUNDS, _FEW_ROOT_ROUNDS = 40, 100
"""Rounds before that: blocks of all ranks gain nothing by more than 40, while
broadcasts among 16 ranks lose up to 1.5 % by them."""
_TREES = 8
"""Trees that are looked for at the prices of a round."""
_FEW_LOADS = 200
"""Links times steps up to which linear programs are small."""
_VERY_FEW_LOADS = 50
_LONG, _SHORT = (100, 150), (24, 0)
"""Last rounds, and trees that are kept from one to the next, of those with a share all:
for very few loads, and for more."""
_UNPROVEN = 10
"""Rounds from one look at what is proven to the next: a look takes a round's time."""
_MOST_DIVIDED = 2**20
"""Loads beyond which a linear program of all trees takes longer than some rounds."""
_ENOUGH = 1e-4
"""Parts by which a packing, or its whole chunks, may be slower than the best."""
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
    averaged = _averaged(message_ps, images)
    firsts = firsts[firsts != root]
    # Blocks of all ranks often need few steps, whose best is proven at once.
    for fewer in range(1 if translated else steps, steps + 1):
        search = _Search(averaged, fewer, root)
        search.begin(firsts.tolist())
        if translated and search.proven():
            break
    else:
        few = _FEW_BLOCK_ROUNDS if translated else _FEW_ROOT_ROUNDS
        rounds = few if network.ranks <= _FEW_RANKS else _ROUNDS
        search.improve(rounds, proves=translated)
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

    def improve(self, rounds: int, *, proves: bool) -> None:
        """Look for better trees in so many rounds.

        `proves`: whether to end where trees are proven the best. Those of one root
        hardly ever are: the proof does not see that groups of ranks, or the root's own
        links, are crossed by every tree.
        """
        for number in range(rounds):
            self.round(number / (rounds - 1))
            if proves and number % _UNPROVEN == 0 and self.proven():
                return
        if self.ranks <= _FEW_RANKS or self.load[0].size <= _FEW_LOADS:
            self.finish()

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

    def proven(self) -> bool:
        """Whether no trees are faster than the best shares of those found so far.

        Prices of links that add up to 1 bound the time of any packing, in however many
        steps: a step lasts at least as long as its loads at these prices, and every
        rank but the root hears over some arc, which costs at least the cheapest one.
        """
        if self.load.size > _MOST_DIVIDED:
            return False
        value, price, share = divided(self.load)
        mean = price.mean(axis=0, keepdims=True)
        cheapest = self._message_cost(mean / mean.sum()).min(axis=(0, 1))
        least = cheapest.sum() - cheapest[self.root]
        if value > least * (1 + _ENOUGH):
            return False
        self.share = share
        return True

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
        cost = self._message_cost(price + 1e-6 * price.max())
        cost[:, self.root] *= 1 + 1e-6  # of two equal tellers not the root
        return cost

    def _message_cost(self, price: FloatArray) -> FloatArray:
        """Return the price of each message, infinite from a rank to itself."""
        ranks, whole = self.ranks, self.message_ps @ price.T
        cost: FloatArray = whole.T.reshape(len(price), ranks, ranks)
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


FEW_LOADS = 5_000
"""Trees times steps times links up to which many ways to divide are tried."""
_SOME = 4
"""A part of all ranks that gain by it change their step at once, if that is better."""


@dataclass(frozen=True, eq=False)
class StepTree:
    """A spanning tree over steps.

    `heard`: the step in which each rank hears, from 1, 0 at the root; shape (n,).
    `teller`: from whom, shape (n,); the root's own is any.
    """

    heard: IntArray
    teller: IntArray


def cheapest_tree(cost: FloatArray, heard: IntArray, moves: int) -> StepTree:
    """Return a tree that no change of the step of one rank makes cheaper.

    `cost`: of a message in each step, infinite from a rank to itself, shape (steps,
    src, dst).
    """
    state = _State.of(cost, heard)
    for _ in range(moves):
        gain, step = state.gains()
        rank = int(gain.argmax())
        if gain[rank] <= state.whole * 1e-9:
            break
        better = np.flatnonzero(gain > 0)
        most = max(1, len(better) // _SOME)
        chosen = better[np.argsort(-gain[better], kind="stable")[:most]]
        following = state.moved(chosen, step[chosen])
        if following.whole > state.whole - gain[rank]:
            following = state.moved(np.array([rank]), step[[rank]])
        state = following
    return StepTree(state.heard, state.teller)


@dataclass(frozen=True, eq=False)
class _State:
    """Steps in which ranks hear, and from whom that is cheapest.

    `own`: what ranks cost in their steps, shape (src, dst). `open`: the same, infinite
    from those that hear too late. `whole`: cost of the tree, infinite for none.
    """

    cost: FloatArray
    heard: IntArray
    teller: IntArray
    own: FloatArray
    open: FloatArray
    whole: float

    @classmethod
    def of(cls, cost: FloatArray, heard: IntArray) -> _State:
        number = np.arange(len(heard))
        own: FloatArray = cost[heard - 1, :, number].T
        open_ = np.where(heard[:, None] < heard, own, np.inf)
        teller = open_.argmin(axis=0)
        least = open_[teller, number]
        whole = float(least[heard > 0].sum())
        return cls(cost, heard, teller, own, open_, whole)

    def moved(self, ranks: IntArray, steps: IntArray) -> _State:
        """Return what follows if some ranks hear in other steps."""
        heard = self.heard.copy()
        heard[ranks] = steps
        return self.of(self.cost, heard)

    def gains(self) -> tuple[FloatArray, IntArray]:
        """Return by how much each rank's best step makes the tree cheaper, and it."""
        heard, ranks = self.heard, len(self.heard)
        number, steps = np.arange(ranks), np.arange(1, len(self.cost) + 1)
        told = heard > 0
        least = np.where(told, self.open[self.teller, number], 0.0)
        second = self.open.copy()
        second[self.teller, number] = np.inf
        # What others cost where a rank tells nobody, as [rank, other].
        without = np.where(self.teller == number[:, None], second.min(axis=0), least)
        without[:, ~told] = 0.0
        without[number, number] = 0.0
        # Who has no other teller has to be told by this rank: dear, but not infinite.
        dear = 4 * self.whole + 1.0
        without = np.minimum(without, dear)
        less = np.minimum(self.own, without) - without
        less[number, number] = 0.0
        late = (heard[:, None] > steps).astype(np.float64)
        others = without.sum(axis=1)[:, None] + less @ late
        early = heard[:, None] < steps
        hears = np.where(early.T[:, :, None], self.cost, np.inf).min(axis=1)
        total = others + hears.T
        total[~told] = np.inf
        best = total.argmin(axis=1)
        gain: FloatArray = self.whole - total[number, best]
        return gain, best + 1


_WAYS = 6
"""Best ways to divide of which one is rounded; three times more gained 0.005 % once."""
_LITTLE_SHARE = 1e-6
"""Weight of a tree beside its load: it chooses one of the best ways to divide."""
_CHANGES = 24
_TRIED = 8
"""Trees that a unit is taken from, and that it is given to, at most."""
_MOST_WORK = 1_000_000
"""Loads that are looked at in order to give away two units at once."""
_HEATS = (0.6, 0.15)
"""Loads that count nearly as the busiest, in units: many at first."""


def divided(
    load: FloatArray, weight: FloatArray | float = 0.0
) -> tuple[float, FloatArray, FloatArray]:
    """Return the time of a unit, prices of links in steps, and the best shares.

    `load`: of a unit of each tree on each link in each step, shape (trees, steps,
    links). `weight`: what a tree costs beside that, shape (trees,).
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, kron

    trees, steps, links = load.shape
    loads = csr_array(load.reshape(trees, -1).T)
    longest = kron(eye_array(steps), -np.ones((links, 1)))
    whole = np.repeat([1.0, 0.0], [trees, steps])
    found = linprog(
        1.0 - whole + np.append(np.zeros(trees) + weight, np.zeros(steps)),
        A_ub=csr_array(hstack([loads, longest])),
        b_ub=np.zeros(steps * links),
        A_eq=whole[None, :],
        b_eq=[1.0],
        method="highs-ds",
    )
    assert found.success
    price = -found.ineqlin.marginals.reshape(steps, links)
    return float(found.fun), price, found.x[:trees]


def whole_shares(load: FloatArray, share: FloatArray, units: int) -> IntArray:
    """Return how many units each tree takes, shape (trees,).

    Near the shares, or, where loads are few, near others that are as good.

    `load`: of a unit of each tree on each link in each step, shape (trees, steps,
    links). `share`: parts of the whole, which add up to 1, shape (trees,).
    """
    part = share / share.sum()
    enough = _longest(np.tensordot(part, load, 1)) * units * (1 + _ENOUGH)
    best = _near(load, part, units, enough)
    if load.size > FEW_LOADS:
        return best
    longest = _longest(np.tensordot(best, load, 1))
    random = np.random.default_rng(len(load))
    heavy = _LITTLE_SHARE * float(load.max())
    total = np.zeros(len(load))
    for _ in range(_WAYS):
        if longest <= enough:
            break
        other = divided(load, heavy * random.uniform(size=len(load)))[2]
        total += other
        for one in (other, total):
            count = _near(load, one / one.sum(), units, enough)
            lasts = _longest(np.tensordot(count, load, 1))
            if lasts < longest:
                best, longest = count, lasts
    return best


def _near(load: FloatArray, share: FloatArray, units: int, enough: float) -> IntArray:
    """Return whole numbers of units near shares, the first that are enough."""
    ends = np.rint(np.cumsum(share) * units).astype(np.int64)
    count: IntArray = np.diff(ends, prepend=0)
    best = count, _longest(np.tensordot(count, load, 1))
    for heat in _HEATS:
        for _ in range(_CHANGES):
            if best[1] <= enough:
                return best[0]
            changed = _changed(load, count, heat * float(load.max()))
            if changed is None:
                break
            count = changed
            longest = _longest(np.tensordot(count, load, 1))
            if longest < best[1]:
                best = count, longest
    return best[0]


def _longest(total: FloatArray) -> float:
    return float(total.max(axis=-1).sum())


def _changed(load: FloatArray, count: IntArray, heat: float) -> IntArray | None:
    """Return what is better with a unit of a tree, or two, given to others, if any."""
    total = np.tensordot(count, load, 1)
    weight = np.exp((total - total.max(axis=1, keepdims=True)) / heat)
    weight /= weight.sum(axis=1, keepdims=True)
    order = np.argsort(np.tensordot(load, weight, 2), kind="stable")
    givers = order[count[order] > 0][::-1][:_TRIED]
    one, other = (ends.reshape(-1) for ends in np.meshgrid(givers, order[:_TRIED]))
    now = _level(total[None], heat)[0] - 1e-9 * heat
    more = load[other] - load[one]
    moved = np.arange(len(one))[:, None]
    if (level := _level(total + more, heat)).min() >= now:
        if len(one) ** 2 * total.size > _MOST_WORK:
            return None
        level = _level((total + more[:, None] + more).reshape(-1, *total.shape), heat)
        first, then = np.divmod(np.arange(len(level)), len(one))
        level[(one[first] == one[then]) & (count[one[first]] < 2)] = np.inf
        moved = np.stack([first, then], axis=1)
    chosen = moved[level.argmin()]
    if level.min() >= now:
        return None
    better = count.copy()
    np.add.at(better, one[chosen], -1)
    np.add.at(better, other[chosen], 1)
    return better


def _level(total: FloatArray, heat: float) -> FloatArray:
    """Return the sum over steps of loads that are near the largest, smoothly."""
    most = total.max(axis=2, keepdims=True)
    near = np.log(np.exp((total - most) / heat).sum(axis=2))
    level: FloatArray = (most[:, :, 0] + heat * near).sum(axis=1)
    return level


_FEW_PIECES = 3
_FEW_LOADS_PROPOSED = 3 * 2**12
"""Pieces that follow one another, and pairs of ranks times steps, up to which two
searches are worth it."""
_MOST_PROPOSED = 8
"""Steps beyond which pipelines of fewer, deeper trees are as good, and sooner found."""
_MOST_LOADS = 5 * 2**12
"""Pairs of ranks times steps that a search takes seconds for."""
_MOST_JOINED = 10
"""Ranks of circuits up to which the lasers that peers do not divide are worth it."""


def _proposals(setting: Setting) -> Iterator[Mapping[str, object]]:
    """Propose the steps that suit how many of them, R, the buffer lasts.

    S steps of trees that are D deep pass on S - D + 1 pieces one after another, which
    is fastest near S = sqrt(R) + D - 1. Blocks of all ranks need hardly any depth, a
    buffer on circuits between all one more, and on shared links two or three.
    """
    ranks, network, lasts = setting.ranks, setting.network, setting.rounds_of_data
    blocks = setting.op not in FROM_ONE_ROOT
    if network is None or lasts is None:
        return
    near = math.isqrt(int(lasts))
    if setting.circuits:
        worth = not blocks and lasts > 1 and ranks <= _MOST_JOINED
        steps = [round(math.sqrt(lasts)) + 1] if worth else []
    elif blocks:
        steps = [near, near + 1] if network.shape else []
    else:
        steps = [near + 2, near + 3]
    if steps and (near > _FEW_PIECES or ranks**2 * steps[0] > _FEW_LOADS_PROPOSED):
        steps = steps[-1:]  # a second search takes long, and gains little
    for count in sorted({max(2, each) for each in steps}):
        if count <= _MOST_PROPOSED and ranks**2 * count <= _MOST_LOADS:
            yield {"steps": count}


ALGORITHM = AlgorithmEntry(
    name="packed-trees",
    summary="many trees of few steps, links evenly loaded: packet networks",
    ops=PackedTrees.ops,
    make=PackedTrees,
    proposals=_proposals,
)
