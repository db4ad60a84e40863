"""Requirements: what a task asks of nodes and node sets, however it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from lightloom.core.columns import exact_sums
from lightloom.core.fabric import CircuitFabric
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
    collective_needs,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    fan_ps,
    heard_reach,
    reach_ps,
    way_ps,
)
from lightloom.validate.certificates.witness import WitnessError

if TYPE_CHECKING:
    from lightloom.core.task import Demand, Task
    from lightloom.instances.instance import AnyFabric

Mask = npt.NDArray[np.bool_]
_MOST_RANKS = 2**13
"""Ranks of an all-to-all, whose pairs are counted one by one."""


class Requirements(Protocol):
    """What bounds ask of a task. Nodes that take no part have zeros."""

    def received_bytes(self) -> list[int]:
        """Return the least bytes that each node must receive."""

    def sent_bytes(self) -> list[int]:
        """Return the least bytes that each node must send."""

    def entering_bytes(self, inside: Mask) -> int:
        """Return the least bytes that must enter a node set, shape (nodes,).

        Parameters
        ----------
        inside
            Whether each node is in the set, shape (nodes,).
        """

    def members(self) -> Mask:
        """Return which nodes may take part, shape (nodes,)."""

    def spread(self) -> tuple[list[int], list[int]]:
        """Return how many nodes each node's data must reach, and it must hear of.

        Where data may be forwarded the node itself is counted, else it is not.
        """

    def way(self, fabric: AnyFabric) -> int:
        """Return how many circuits some data must take, one after another."""

    @property
    def forwarded(self) -> bool:
        """Return whether nodes may hand data on."""

    @property
    def least_spread(self) -> int:
        """Return the least spread with which anything is sent."""

    def spread_ps(self, fabric: AnyFabric, spread: int) -> int:
        """Return the least time for the portions that such a spread needs.

        Parameters
        ----------
        fabric
            Of the task.
        spread
            A count of nodes, as `spread` returns them.
        """


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


def base_ps(fabric: AnyFabric, needs: Requirements) -> int:
    """Return what portions and configurations cost at least, with no data at all."""
    most = max(max(side, default=0) for side in spread_on(fabric, needs))
    return max(needs.spread_ps(fabric, most), way_ps(fabric, needs.way(fabric)))


def spread_on(fabric: AnyFabric, needs: Requirements) -> tuple[list[int], list[int]]:
    """Return what `Requirements.spread` does, as far as ports limit it.

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
