"""What all replicas of a placed model compute and send in one iteration."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.iteration import (
    NO_CALL,
    Collectives,
    Dependencies,
    Iteration,
    Operations,
)
from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.replay.workload.network import CollectiveModel
    from lightloom.training.replica import GradientSum, Replica


def training_iteration(
    replica: Replica,
    nodes: Sequence[Sequence[int]],
    device_count: int,
    rings: Sequence[int] | None = None,
) -> Iteration:
    """Return an iteration of a model's replicas.

    Every replica runs its parts forward, then backward; tensors go between the devices
    of its parts, gradients of tensors the other way. Gradients of parameters are summed
    over the replicas as soon as the backward pass of an operation has made them: an
    all-reduce through the twins of each device, which is the ring of the SiP-ML paper,
    or rings along the axes of a grid of replicas (`twin_sums`). Where the parts of an
    operation have copies of its parameters, their devices first reduce-scatter, and
    all-gather behind. Parts that share a device sum for nothing. The step of the
    optimiser takes no time.

    `nodes`: of each replica, in the order of the rings: the nodes of its devices.
    `rings`: lengths of the rings along each axis of the replicas, in the order of
    `nodes`; by default one ring through all of them.
    """
    rings = (len(nodes),) if rings is None else rings
    return _Builder(replica, nodes, device_count, rings).iteration()


class _Builder:
    def __init__(
        self,
        replica: Replica,
        nodes: Sequence[Sequence[int]],
        device_count: int,
        rings: Sequence[int],
    ) -> None:
        self._replica, self._device_count, self._rings = replica, device_count, rings
        self._nodes = np.array(nodes, dtype=np.int64)
        self._parts = len(replica.device)
        self._copies = len(nodes)
        self._order: list[tuple[int, int]] = []
        self._op: list[str] = []
        self._bytes: list[int] = []
        self._members: list[list[int]] = []

    def iteration(self) -> Iteration:
        """Return everything."""
        operations = self._operations()
        self._gradients()
        rows = [(*ends, 0, NO_CALL) for ends in self._order]
        waits = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        links = Dependencies(*np.concatenate([self._edges(), waits], axis=1))
        collectives = Collectives(
            tuple(self._op),
            np.array(self._bytes, dtype=np.int64),
            Ragged.from_lists(self._members),
        )
        return Iteration(self._device_count, operations, links, collectives)

    def _operations(self) -> Operations:
        split, passes, copies = self._replica.split, self._replica.passes, self._copies
        parts = self._parts
        place = np.empty(parts, dtype=np.int64)
        place[np.argsort(passes.level[:parts], kind="stable")] = np.arange(parts)
        names = [split.graph.ops[row].name for row in split.op.tolist()]
        words = (*names, *(f"{name} backward" for name in names))
        return Operations(
            words * copies,
            self._nodes[:, passes.device].ravel(),
            np.tile(passes.computes_ps, copies),
            np.tile(np.concatenate([place, 2 * parts - 1 - place]), copies),
        )

    def _row(self, copy: int, part: int, *, backward: bool = True) -> int:
        """Return the task of a pass of a part."""
        return (2 * copy + backward) * self._parts + part

    def _edges(self) -> IntArray:
        """Return the dependencies between passes: from, to, bytes and call."""
        passes, copies = self._replica.passes, self._copies
        copy = np.arange(copies)[:, None]
        call = passes.call + copy * (int(passes.call.max(initial=-1)) + 1)
        call[:, ~passes.moves] = NO_CALL
        return np.stack(
            [
                (passes.src + copy * 2 * self._parts).ravel(),
                (passes.dst + copy * 2 * self._parts).ravel(),
                np.tile(passes.bytes, copies),
                call.ravel(),
            ]
        )

    def _gradients(self) -> None:
        """Add the collectives of every operation with parameters."""
        for gradient in self._replica.passes.sums:
            parts = gradient.parts
            if not gradient.copied:
                for device, rows in parts.items():
                    self._over_replicas(device, gradient.share_bytes(device), rows)
            elif self._copies > 1:
                self._hierarchical(gradient)
            else:
                devices = self._nodes[0][list(parts)].tolist()
                whole = self._add("all-reduce", gradient.bytes, devices)
                self._after(whole, 0, parts)

    def _hierarchical(self, gradient: GradientSum) -> None:
        """Sum within each replica, over replicas by shards, and gather again."""
        size, where = gradient.bytes, gradient.parts
        nodes = self._nodes[:, list(where)]
        inner = [self._add("reduce-scatter", size, row.tolist()) for row in nodes]
        for copy, task in enumerate(inner):
            self._after(task, copy, where)
        share = gradient.share_bytes(min(where))
        ends = [
            self._over_twins(share, twins, [[task] for task in inner])
            for twins in nodes.T
        ]
        for copy, row in enumerate(nodes):
            gather = self._add("all-gather", size, row.tolist())
            self._order += [(end[copy], gather) for end in ends]

    def _over_replicas(self, device: int, size: int, rows: list[int]) -> None:
        """Sum the gradients of a device's parts over its twins."""
        if self._copies == 1:
            return
        before = [
            [self._row(copy, row) for row in rows] for copy in range(self._copies)
        ]
        self._over_twins(size, self._nodes[:, device], before)

    def _over_twins(
        self, size: int, twins: IntArray, before: list[list[int]]
    ) -> list[int]:
        """Sum over twins behind tasks of their replicas; return the last task of each.

        There are two replicas or more.
        """
        for stage in twin_sums(self._rings, size):
            ends: list[list[int]] = [[] for _ in before]
            for each in stage:
                task = self._add(each.op, each.bytes, twins[list(each.copies)].tolist())
                earlier = {one: None for copy in each.copies for one in before[copy]}
                self._order += [(one, task) for one in earlier]
                for copy in each.copies:
                    ends[copy] = [task]
            before = ends
        return [end for (end,) in before]

    def _after(self, task: int, copy: int, where: dict[int, list[int]]) -> None:
        """Let a collective wait for backward passes of a replica."""
        for rows in where.values():
            self._order += [(self._row(copy, row), task) for row in rows]

    def _add(self, op: str, size: int, members: list[int]) -> int:
        """Add a collective; return its task."""
        self._op.append(op)
        self._bytes.append(size)
        self._members.append(members)
        return 2 * self._parts * self._copies + len(self._op) - 1


def traffic(iteration: Iteration, collectives: CollectiveModel) -> Demand:
    """Return what goes from each node to each other one in an iteration.

    The traffic matrix of SiP-ML's Fig. 7: transfers, and what collectives send.
    """
    links, device = iteration.dependencies, iteration.operations.device
    rows = np.flatnonzero(iteration.is_transfer)
    src, dst = [device[links.src[rows]]], [device[links.dst[rows]]]
    size = [links.bytes[rows]]
    table = iteration.collectives
    for row, op in enumerate(table.op):
        flows = collectives.flows(op, table.devices[row], int(table.bytes[row]))
        src.append(flows.src)
        dst.append(flows.dst)
        size.append(flows.bytes)
    return pair_demand(np.concatenate(src), np.concatenate(dst), np.concatenate(size))


def pair_demand(src: IntArray, dst: IntArray, size_bytes: IntArray) -> Demand:
    """Return rows added up by pair; columns of shape (rows,), a row at least.

    >>> pair_demand(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([5, 2, 7]))
    Demand(src=(0, 1), dst=(1, 0), bytes=(12, 2), relays=False)
    """
    count = int(max(src.max(initial=0), dst.max(initial=0))) + 1
    pairs, of = np.unique(src * count + dst, return_inverse=True)
    total = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(total, of.reshape(-1), size_bytes)
    return Demand(
        tuple((pairs // count).tolist()),
        tuple((pairs % count).tolist()),
        tuple(total.tolist()),
    )


@dataclass(frozen=True)
class TwinSum:
    """A collective of the twins of some replicas.

    `copies`: replicas whose twins take part, in the order of their ring.
    """

    op: str
    bytes: int
    copies: tuple[int, ...]


def twin_sums(rings: Sequence[int], size_bytes: int) -> tuple[tuple[TwinSum, ...], ...]:
    """Return the collectives that sum a buffer over replicas, stage after stage.

    One ring through all replicas is an all-reduce. On a grid of replicas every ring
    along the first axis reduces and scatters, those along the next one go on with
    a share, those along the last all-reduce theirs, and then all is gathered again:
    as many bytes a replica as in one ring through all, over fewer steps. A collective
    waits for those of the stage before that have a replica in common with it.

    `rings`: lengths of the rings along each axis; replicas are numbered row by row.
    """
    number = np.arange(prod(rings)).reshape(rings)
    axes = [axis for axis, length in enumerate(rings) if length > 1]
    if not axes:
        return ()
    sizes = [size_bytes]
    for axis in axes[:-1]:
        sizes.append(-(-sizes[-1] // rings[axis]))
    rest = list(zip(axes[:-1], sizes[:-1], strict=True))
    stages = [("reduce-scatter", *one) for one in rest]
    stages.append(("all-reduce", axes[-1], sizes[-1]))
    stages += [("all-gather", *one) for one in reversed(rest)]
    return tuple(
        tuple(TwinSum(op, size, copies) for copies in _lines(number, axis))
        for op, axis, size in stages
    )


def _lines(number: IntArray, axis: int) -> list[tuple[int, ...]]:
    """Return the replicas of each ring along an axis."""
    lines = np.moveaxis(number, axis, -1).reshape(-1, number.shape[axis])
    return [tuple(line) for line in lines.tolist()]
