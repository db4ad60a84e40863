"""Potentials over steps: what messages must do until data are where they are needed.

A datum of rank s that rank v needs has a potential in every place after every step;
which data in which ranks are in places of the same number, a witness says.
Where it waits the potential never rises, so messages must lift it from what it is at s
before the first step to what it is at v after the last.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.fabrics.sipac import Sipac
from lightloom.validate.certificates.completion_time.message_costs import (
    MOST_RANKS,
    PairRoutes,
)
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.task import Collective

MOST_POTENTIAL = 2**24
"""Largest potential: the sum of what all pairs of ranks gain stays below 2**63."""
_MOST_UNLIKE = 32
"""Ranks up to which each is looked at where none is shown to be like another."""


@dataclass(frozen=True)
class Flow:
    """Which data a collective brings from where to where.

    `rooted`: only the root has data at first; else every rank has some of its own.
    `same`: all other ranks need the data of a source, so a message may serve several of
    them at once; else each needs some that no other does. `summed`: a message may serve
    the data of several sources at once. `turned`: all this holds with time, and the
    messages, turned around.
    """

    rooted: bool
    same: bool
    summed: bool = False
    turned: bool = False


FLOWS = {
    "all-gather": Flow(rooted=False, same=True),
    "all-reduce": Flow(rooted=False, same=True, summed=True),
    "broadcast": Flow(rooted=True, same=True),
    "gather": Flow(rooted=True, same=False, turned=True),
    "reduce": Flow(rooted=True, same=True, turned=True),
    "reduce-scatter": Flow(rooted=False, same=True, turned=True),
    "scatter": Flow(rooted=True, same=False),
}
"""The flow of each collective that potentials say something about."""


@dataclass(frozen=True, eq=False)
class Ways:
    """The messages that there can be between the ranks of a collective.

    `routes`: the links of each message; of SiPAC, the bus by which a rank hears it, and
    where a message serves one rank alone the lasers that send it. `joined`: whether
    there can be a message from rank to rank, shape (n, n).
    """

    routes: PairRoutes
    joined: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls, fabric: PacketFabric | Sipac, nodes: tuple[int, ...], flow: Flow
    ) -> Ways:
        """Return the ways between the nodes of a collective, or raise `WitnessError`.

        On SiPAC messages join nodes that are one circuit apart.
        """
        if isinstance(fabric, Sipac):
            return cls._lit(fabric, nodes, told=flow.turned or not flow.same)
        routes = PairRoutes.of(fabric, nodes)
        return cls(routes, ~np.eye(routes.ranks, dtype=np.bool_))

    @classmethod
    def _lit(cls, fabric: Sipac, nodes: tuple[int, ...], *, told: bool) -> Ways:
        """Return where each rank hears another and, if asked, where that one tells."""
        count = len(nodes)
        if count > MOST_RANKS:
            message = f"{count} ranks, allowed up to {MOST_RANKS}"
            raise WitnessError(message)
        node = np.repeat(np.array(nodes, dtype=np.int64)[:, None], count, axis=1)
        src, dst = node.reshape(-1), node.T.reshape(-1)
        joined = fabric.circuits_apart(src, dst) == 1
        pair = np.flatnonzero(joined)
        level = fabric.level_of(src[pair], dst[pair])
        link = dst[pair] * fabric.levels + level
        if told:
            lasers = (fabric.node_count + src[pair]) * fabric.levels + level
            pair, link = np.concatenate([pair, pair]), np.concatenate([link, lasers])
        return cls(PairRoutes(count, pair, link), joined.reshape(count, count))

    @staticmethod
    def rates(fabric: PacketFabric | Sipac, links: IntArray) -> IntArray:
        """Return the rates of links, as Python integers, shape (links,)."""
        if isinstance(fabric, Sipac):
            rate = fabric.wavelengths * fabric.bits_per_second_per_wavelength
            return np.full(len(links), rate, dtype=object)
        return fabric.link_bits_per_s(links).astype(object)


@dataclass(frozen=True, eq=False)
class Lifts:
    """The data of a collective, and what messages lift them.

    `sources`: ranks that stand for all sources of data. `sums`: row s is the
    permutation that takes rank 0 to rank s, and links to links of the same group; empty
    where every source stands for itself alone. `places`: the place of the datum from
    each source to v at a, from 0, shape (sources, v, a). `usage`: links of each group
    between two ranks, shape (n, n, groups). `joined`: whether there can be a message
    from rank to rank, shape (n, n).
    """

    flow: Flow
    sources: tuple[int, ...]
    sums: IntArray
    places: IntArray
    usage: IntArray
    joined: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        task: Collective,
        ways: Ways,
        group: IntArray,
        shape: tuple[int, ...],
        places: IntArray,
    ) -> Lifts:
        """Return the lifts of a collective, or raise `WitnessError`.

        `group`: of the link of each row of the routes, from 0; -1 for none. `shape`:
        the box that ranks stand in, whose translations must leave groups as they are;
        empty for none. `places`: of all data in all places, a row after another, shape
        (sources * n * n,).
        """
        flow, routes, ranks = FLOWS[task.op], ways.routes, ways.routes.ranks
        joined = ways.joined
        flat = np.zeros((ranks**2, int(group.max(initial=-1)) + 1), dtype=np.int64)
        some = group >= 0
        np.add.at(flat, (routes.pair[some], group[some]), 1)
        usage: IntArray = flat.reshape(ranks, ranks, -1)
        if flow.turned:
            usage, joined = usage.transpose(1, 0, 2), joined.T
        sums = np.zeros((0, ranks), dtype=np.int64)
        if flow.rooted:
            sources: tuple[int, ...] = (task.root_rank,)
        elif shape:
            sums, sources = _checked_sums(shape, joined, usage), (0,)
        elif ranks <= _MOST_UNLIKE:
            sources = tuple(range(ranks))
        else:
            message = f"{ranks} ranks of which none is shown to be like another"
            raise WitnessError(message)
        count = len(sources) * ranks**2
        if len(places) != count or places.min() < 0 or places.max() >= count:
            message = f"places are not {count} numbers from 0 to {count - 1}"
            raise WitnessError(message)
        each = places.reshape(len(sources), ranks, ranks)
        return cls(flow, sources, sums, each, usage, joined)

    @property
    def place_count(self) -> int:
        """How many places there are."""
        return int(self.places.max()) + 1

    def prices(self, before: IntArray, after: IntArray) -> IntArray:
        """Return by how much a message from u to v lifts data, shape (n, n).

        What may be in one message is added up, else the most counts.

        `before`, `after`: potentials of the places before and after a step, shape
        (places,).
        """
        total: IntArray = np.zeros(self.joined.shape, dtype=np.int64)
        for start, end, row in self._rises:
            rise = np.maximum(after[end] - before[start], 0)
            lifted = rise.sum(axis=1) if self.flow.same else rise.max(axis=1)
            price = np.zeros_like(total)
            price[self.joined] = lifted[row]
            if self.flow.summed:
                total += self._everywhere(price)
            else:
                total = np.maximum(total, price)
        return total

    @functools.cached_property
    def _rises(self) -> list[tuple[IntArray, IntArray, IntArray]]:
        """For each source what messages may lift, for equal ones once.

        Places before and after, a row for all that may be in a message, and the row of
        the message between each two joined ranks.
        """
        width = self.place_count
        src, dst = np.nonzero(self.joined)
        found = []
        for source, place in zip(self.sources, self.places, strict=True):
            needed = np.delete(place, source, axis=0).T
            code = np.sort(needed[src] * width + needed[dst], axis=1)
            code, row = np.unique(code, axis=0, return_inverse=True)
            found.append((code // width, code % width, row.reshape(-1)))
        return found

    def costs(self, lengths: IntArray) -> IntArray:
        """Return the lengths of all links of each message, shape (n, n)."""
        usages, row = self._usages
        return (usages @ lengths)[row].reshape(self.joined.shape)

    @functools.cached_property
    def _usages(self) -> tuple[IntArray, IntArray]:
        """Links of each group, for equal messages once, and the row of each message."""
        flat = self.usage.reshape(-1, self.usage.shape[2])
        usages, row = np.unique(flat, axis=0, return_inverse=True)
        return usages, row.reshape(-1)

    def _everywhere(self, price: IntArray) -> IntArray:
        """Return the sum of prices over all sources that one stands for."""
        if not len(self.sums):
            return price
        total = np.zeros_like(price)
        for moved in self.sums:
            total[np.ix_(moved, moved)] += price
        return total

    def height(self, first: IntArray, last: IntArray) -> int:
        """Return by how much all data together must be lifted.

        `first`, `last`: potentials before the first step and after the last, shape
        (places,).
        """
        total = 0
        for source, place in zip(self.sources, self.places, strict=True):
            rise = last[np.diagonal(place)] - first[place[:, source]]
            total += int(np.delete(rise, source).sum())
        return total * max(1, len(self.sums))


def _checked_sums(
    shape: tuple[int, ...],
    joined: npt.NDArray[np.bool_],
    usage: IntArray,
) -> IntArray:
    """Return the translations of a box, shape (n, n), or raise `WitnessError`.

    It is enough to look at the steps by one along each digit: others are made of them.
    """
    ranks = len(joined)
    if min(shape) < 1 or int(np.prod(np.array(shape, dtype=object))) != ranks:
        message = f"a box of shape {list(shape)} does not have {ranks} places"
        raise WitnessError(message)
    digit = np.stack(np.unravel_index(np.arange(ranks), shape))
    size = np.array(shape)[:, None, None]
    added = (digit[:, :, None] + digit[:, None, :]) % size
    sums: IntArray = np.ravel_multi_index(tuple(added), shape).astype(np.int64)
    for axis in range(len(shape)):
        unit = tuple(int(one == axis and shape[one] > 1) for one in range(len(shape)))
        moved = sums[np.ravel_multi_index(unit, shape)]
        both = np.ix_(moved, moved)
        alike = (joined[both] == joined).all()
        if not alike or not (usage[both] == usage).all():
            message = "translations of the box change groups of links"
            raise WitnessError(message)
    return sums
