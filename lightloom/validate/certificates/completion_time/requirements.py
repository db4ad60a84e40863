"""Requirements: what a task asks of nodes and node sets, however it is done."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from lightloom.core.columns import distinct, exact_sums
from lightloom.core.fabric import CircuitFabric, NearCircuits
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.validate.certificates.completion_time.step_costs import (
    fan_ps,
    heard_reach,
    reach_ps,
    way_ps,
)
from lightloom.validate.certificates.witness import WitnessError
from lightloom.validate.data.moves import Ranges, conditions

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand, Task
    from lightloom.instances.instance import AnyFabric


Mask = npt.NDArray[np.bool_]
_MOST_RANKS = 2**13
"""Ranks of an all-to-all, whose pairs are counted one by one."""


def requirements_of(task: Task, node_count: int) -> CollectiveNeeds | DemandNeeds:
    """Return what a sound task asks, on a fabric of `node_count` nodes.

    Raises `WitnessError`: an all-to-all of so many ranks that their pairs take
    gigabytes.
    """
    if isinstance(task, Collective):
        ranks = task.rank_count
        if task.op == "all-to-all" and ranks > _MOST_RANKS:
            message = f"{ranks} ranks have too many pairs, allowed up to {_MOST_RANKS}"
            raise WitnessError(message)
        chunks = ranks if op_of(task).uses_blocks else 1
        coarse = msgspec.structs.replace(task, chunks=chunks)
        return collective_needs(coarse, node_count)
    return DemandNeeds(task, node_count)


def base_ps(fabric: AnyFabric, needs: CollectiveNeeds | DemandNeeds) -> int:
    """Return what portions and configurations cost at least, with no data at all."""
    most = max(max(side, default=0) for side in spread_on(fabric, needs))
    return max(needs.spread_ps(fabric, most), way_ps(fabric, needs.way(fabric)))


def spread_on(
    fabric: AnyFabric, needs: CollectiveNeeds | DemandNeeds
) -> tuple[list[int], list[int]]:
    """Return what `spread` of the needs does, as far as ports limit it.

    Where a circuit may have several destinations, data that may be forwarded reach
    more nodes: see `heard_reach`. Of other demands, how many must be reached says only
    whether any must, for pairs that share a circuit may take turns in one segment.
    What a node must hear of still comes in through its own ports.
    """
    reach, hear = needs.spread()
    if isinstance(fabric, CircuitFabric) and "multicast" in fabric.circuit_columns:
        fewer = {
            count: heard_reach(fabric, count)
            if needs.forwarded
            else min(count, needs.least_spread)
            for count in set(reach) - {0}
        }
        reach = [fewer.get(count, 0) for count in reach]
    return reach, hear


class DemandNeeds:
    """What a fluid demand asks, its bytes forwarded only where it allows relays."""

    def __init__(self, demand: Demand, node_count: int) -> None:
        self.forwarded = demand.relays
        self.src = np.array(demand.src, dtype=np.int64)
        self.dst = np.array(demand.dst, dtype=np.int64)
        self.bytes = np.array(demand.bytes, dtype=np.int64)
        self.node_count = node_count

    def received_bytes(self) -> list[int]:
        """Return the bytes each node must receive."""
        return exact_sums(self.dst, self.bytes, self.node_count)

    def sent_bytes(self) -> list[int]:
        """Return the bytes each node must send."""
        return exact_sums(self.src, self.bytes, self.node_count)

    def entering_bytes(self, inside: Mask) -> int:
        """Return the bytes that must enter a node set."""
        enters = ~inside[self.src] & inside[self.dst]
        nowhere = np.zeros(int(enters.sum()), dtype=np.int64)
        return exact_sums(nowhere, self.bytes[enters], 1)[0]

    def members(self) -> Mask:
        """Return all nodes."""
        return np.ones(self.node_count, dtype=np.bool_)

    def spread(self) -> tuple[list[int], list[int]]:
        """Return the number of destinations and of sources of each node.

        Where bytes may be forwarded, a node that has any counts itself too.
        """
        out = np.bincount(self.src, minlength=self.node_count)
        into = np.bincount(self.dst, minlength=self.node_count)
        out, into = (side + (side > 0) * self.forwarded for side in (out, into))
        return out.tolist(), into.tolist()

    def way(self, fabric: AnyFabric) -> int:
        """Return 0: what demands ask, `spread` counts."""
        del fabric
        return 0

    @property
    def least_spread(self) -> int:
        """One: another node; two where the node itself is counted."""
        return 1 + self.forwarded

    def spread_ps(self, fabric: AnyFabric, spread: int) -> int:
        """Return the least time for a node to serve so many others."""
        if self.forwarded:
            return reach_ps(fabric, spread)
        return fan_ps(fabric, spread)


@dataclass(frozen=True, eq=False)
class CollectiveNeeds:
    """What a collective asks; it does not depend on the number of chunks.

    All columns are per atom of the coarsest chunks there can be.

    `collective`: with the fewest chunks its operation allows. `origin`: rank that holds
    it before; meaningless where values are combined. `wanted`: how many ranks must hold
    it after. `owner`: the rank that must, where `wanted` is one.
    """

    collective: Collective
    node_count: int
    reduces: bool
    chunks: IntArray
    origin: IntArray
    final: Ranges
    wanted: IntArray
    owner: IntArray

    @property
    def _ranks(self) -> int:
        return self.collective.rank_count

    def _by_node(self, chunks_by_rank: IntArray) -> list[int]:
        by_node = [0] * self.node_count
        size = self.collective.chunk_bytes
        pairs = zip(self.collective.nodes, chunks_by_rank.tolist(), strict=True)
        for node, chunks in pairs:
            by_node[node] = chunks * size
        return by_node

    def _sum(self, atoms: Mask, rank: IntArray) -> IntArray:
        """Return the chunks of the chosen atoms, by their rank."""
        total = np.zeros(self._ranks, dtype=np.int64)
        np.add.at(total, rank[atoms], self.chunks[atoms])
        return total

    def _at_home(self) -> Mask:
        """Return the atoms that their origin must, or may have to, hold after."""
        alone: Mask = (self.wanted == 1) & (self.owner == self.origin)
        return alone | (self.wanted > 1)

    def received_bytes(self) -> list[int]:
        """Return the least bytes each node must receive.

        Without reduction: all it must hold and does not. With: every chunk it must
        hold has contributions of others, so some message for it must arrive.
        """
        ends = np.concatenate([[0], np.cumsum(self.chunks)])
        due = np.zeros(self._ranks, dtype=np.int64)
        held = ends[self.final.hi] - ends[self.final.lo]
        np.add.at(due, self.final.rank, held)
        if self.reduces:
            return self._by_node(due if self._ranks > 1 else 0 * due)
        kept = self._sum(self._at_home(), self.origin)
        return self._by_node(np.maximum(due - kept, 0))

    def sent_bytes(self) -> list[int]:
        """Return the least bytes each node must send.

        Without reduction: all that only it has and another needs. With: every
        chunk that another must hold needs its contribution.
        """
        away = self.wanted >= 1
        alone = self.wanted == 1
        if self.reduces:
            total = np.full(self._ranks, int(self.chunks[away].sum()), dtype=np.int64)
            return self._by_node(
                total - self._sum(alone, self.owner) if self._ranks > 1 else 0 * total
            )
        away &= ~(alone & (self.owner == self.origin))
        return self._by_node(self._sum(away, self.origin))

    def volume_bytes(self) -> int:
        """Return the least bytes that all nodes together must receive.

        Without reduction, one message for each rank that must get a chunk. With: when
        the first rank has a chunk complete, the n - 1 others have had their
        contributions join it, one message each, heard by one node at least; every other
        rank that must hold it needs one more.
        """
        if self.reduces:
            messages = np.where(self.wanted >= 1, self.wanted - 1 + self._ranks - 1, 0)
        else:
            messages = self.wanted - self._at_home()
        count = sum(
            int(number) * int(self.chunks[messages == number].sum())
            for number in distinct(messages)
        )
        return count * self.collective.chunk_bytes

    def entering_bytes(self, inside: Mask) -> int:
        """Return the least bytes that must enter a node set.

        Every chunk needed inside counts once where its only holder, or any of its
        contributors, is outside.
        """
        rank_inside = inside[list(self.collective.nodes)]
        needed = self.holders(rank_inside) > 0
        if self.reduces:
            needed &= not rank_inside.all()
        else:
            needed &= ~rank_inside[self.origin]
        return int(self.chunks[needed].sum()) * self.collective.chunk_bytes

    def holders(self, some: Mask) -> IntArray:
        """Return how many of some ranks must hold each atom, shape (atoms,)."""
        rows = some[self.final.rank]
        change = np.zeros(len(self.chunks) + 1, dtype=np.int64)
        np.add.at(change, self.final.lo[rows], 1)
        np.add.at(change, self.final.hi[rows], -1)
        held: IntArray = np.cumsum(change)[:-1]
        return held

    def members(self) -> Mask:
        """Return the nodes of the collective."""
        members = np.zeros(self.node_count, dtype=np.bool_)
        members[list(self.collective.nodes)] = True
        return members

    def spread(self) -> tuple[list[int], list[int]]:
        """Return how many nodes each node's data must reach, and it must hear of.

        Chunks that more than one and fewer than all must hold are left out, which
        keeps the answer a lower bound.
        """
        ranks = self._ranks
        to_all, to_one = self.wanted == ranks, self.wanted == 1
        reach, hear = (np.ones(ranks, dtype=np.int64) for _ in range(2))
        if self.reduces:
            final = np.zeros(ranks, dtype=np.bool_)
            final[self.final.rank[self.final.hi > self.final.lo]] = True
            reach[:] = int(final.sum()) + ~final
            hear[final] = ranks
        else:
            reach[self.origin[to_all]] = ranks
            hear[:] = max(1, len(distinct(self.origin[to_all])))
            away = to_one & (self.owner != self.origin)
            pairs = distinct(self.origin[away] * ranks + self.owner[away])
            out = np.bincount(pairs // ranks, minlength=ranks) + 1
            into = np.bincount(pairs % ranks, minlength=ranks) + 1
            reach, hear = np.maximum(reach, out), np.maximum(hear, into)
        by_node = []
        for side in (reach, hear):
            counts = [0] * self.node_count
            for node, count in zip(self.collective.nodes, side.tolist(), strict=True):
                counts[node] = count
            by_node.append(counts)
        return by_node[0], by_node[1]

    def way(self, fabric: AnyFabric) -> int:
        """Return the circuits between two ranks of which one must hear of the other.

        Of ranks that must hear of all, or that all must hear of, one is tried, and the
        one farthest from it.
        """
        if not isinstance(fabric, NearCircuits):
            return 0
        ranks, longest = np.flatnonzero(self.members()), 0
        for outwards, side in zip((True, False), self.spread(), strict=True):
            node = next((one for one in ranks.tolist() if side[one] == len(ranks)), -1)
            for _ in range(2):
                if node < 0 or side[node] < len(ranks):
                    break
                ends = np.full_like(ranks, node), ranks
                apart = fabric.circuits_apart(*(ends if outwards else ends[::-1]))
                longest = max(longest, int(apart.max()))
                node = int(ranks[apart.argmax()])
        return longest

    @property
    def forwarded(self) -> bool:
        """True: ranks hand chunks on."""
        return True

    @property
    def least_spread(self) -> int:
        """Two: the node itself, and another."""
        return 2

    def spread_ps(self, fabric: AnyFabric, spread: int) -> int:
        """Return the least time for data to reach so many nodes, forwarded or not."""
        everywhere = bool((self.wanted == self._ranks).any())
        summed = self.reduces and everywhere and spread == self._ranks
        return reach_ps(fabric, spread, summed=summed)


@functools.lru_cache(maxsize=4)
def collective_needs(collective: Collective, node_count: int) -> CollectiveNeeds:
    """Return what a collective asks; the last few are kept."""
    edges, initial, final = conditions(collective)
    atoms = len(edges) - 1
    origin = np.zeros(atoms, dtype=np.int64)
    reduces = op_of(collective).reduces
    if not reduces:
        rows = zip(
            initial.rank.tolist(), initial.lo.tolist(), initial.hi.tolist(), strict=True
        )
        for rank, lo, hi in rows:
            origin[lo:hi] = rank
    change, ranks = (np.zeros(atoms + 1, dtype=np.int64) for _ in range(2))
    np.add.at(change, final.lo, 1)
    np.add.at(change, final.hi, -1)
    np.add.at(ranks, final.lo, final.rank)
    np.add.at(ranks, final.hi, -final.rank)
    wanted = np.cumsum(change)[:-1]
    owner = np.where(wanted == 1, np.cumsum(ranks)[:-1], 0)
    return CollectiveNeeds(
        collective, node_count, reduces, np.diff(edges), origin, final, wanted, owner
    )
