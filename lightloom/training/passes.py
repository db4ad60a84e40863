"""The passes of a placed replica: one graph to bound, estimate and replay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lightloom.training.placement.operation_graph import op_graph

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.replay.workload import Launch
    from lightloom.training.placement.graph_split import SplitGraph

    BoolArray = np.typing.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GradientSum:
    """The gradients of an operation's parameters, and who makes them.

    `bytes`: of all of them. `parts`: by device, the parts on it, whose backward passes
    make them. `divided`: whether each part makes its own; else every device makes all,
    and several sum theirs within the replica before they do over replicas.
    """

    bytes: int
    parts: dict[int, list[int]]
    divided: bool

    @property
    def copied(self) -> bool:
        """Whether several devices of the replica make the same gradients."""
        return not self.divided and len(self.parts) > 1

    def share_bytes(self, device: int) -> int:
        """Return what a device sums with its twins in other replicas, rounded up."""
        if not self.divided:
            return -(-self.bytes // len(self.parts))
        every = sum(len(rows) for rows in self.parts.values())
        return -(-self.bytes * len(self.parts[device]) // every)


@dataclass(frozen=True, eq=False)
class Passes:
    """What a replica computes and sends, forward and then backward.

    `device`, `computes_ps`, `level`: of each pass, shape (2 * parts,), the forward ones
    first: where it runs, how long, and the most edges on a path that leads to it.
    `src`, `dst`, `bytes`, `call`: of each edge: passes, what goes from one to the other
    (tensors forth, their gradients back, nothing from a part to its backward pass), and
    a number that edges between the same two operations share in a direction. `sums`: of
    each operation with parameters. `devices`: of the replica.
    """

    device: IntArray
    computes_ps: IntArray
    level: IntArray
    src: IntArray
    dst: IntArray
    bytes: IntArray
    call: IntArray
    sums: tuple[GradientSum, ...]
    devices: int

    @property
    def parts(self) -> int:
        """How many parts there are; each has two passes."""
        return len(self.device) // 2

    @cached_property
    def moves(self) -> BoolArray:
        """Whether an edge is a transfer between devices."""
        away: BoolArray = self.device[self.src] != self.device[self.dst]
        return away & (self.bytes > 0)

    def lasts_ps(self, launch: Launch) -> IntArray:
        """Return how long each pass keeps its device, 0 for one that takes no time."""
        launched = launch.latency_ps + np.maximum(self.computes_ps, launch.minimum_ps)
        return np.where(self.computes_ps > 0, launched, 0)

    @cached_property
    def forward_traffic(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Level, source, destination and bytes of what devices send on each level.

        Backward the same bytes go the other way.
        """
        rows = np.flatnonzero(self.moves & (self.dst < self.parts))
        count, (src, dst) = self.devices, self.device[[self.src[rows], self.dst[rows]]]
        keys = (self.level[self.dst[rows]] * count + src) * count + dst
        pairs, of = np.unique(keys, return_inverse=True)
        size = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(size, of, self.bytes[rows])
        return pairs // count**2, pairs // count % count, pairs % count, size


def replica_passes(split: SplitGraph, device: IntArray, devices: int) -> Passes:
    """Return the passes of a model in parts, in O(parts + edges).

    `device`: of each part, shape (parts,); its backward pass runs where it does.
    """
    costs = [
        (operation.split(cut.dimension), cut.parts)
        for operation, cut in zip(split.graph.ops, split.cuts, strict=True)
    ]
    forth = [cost.forward_time_ps(parts) for cost, parts in costs]
    back = [cost.backward_time_ps(parts) for cost, parts in costs]
    load, here = split.workload, np.arange(len(device))
    level = np.array(op_graph(load).level, dtype=np.int64)
    tail, head = np.array([load.src, load.dst], dtype=np.int64).reshape(2, -1)
    size = np.array(load.bytes, dtype=np.int64)
    pair = split.op[tail] * len(costs) + split.op[head]
    _, call = np.unique(pair, return_inverse=True)
    calls = int(call.max(initial=-1)) + 1
    return Passes(
        device=np.concatenate([device, device]),
        computes_ps=np.array([forth, back], dtype=np.int64)[:, split.op].ravel(),
        level=np.concatenate([level, 2 * int(level.max()) + 1 - level]),
        src=np.concatenate([tail, head + len(here), here]),
        dst=np.concatenate([head, tail + len(here), here + len(here)]),
        bytes=np.concatenate([size, size, 0 * here]),
        call=np.concatenate([call, call + calls, 0 * here]),
        sums=_gradient_sums(split, device),
        devices=devices,
    )


def _gradient_sums(split: SplitGraph, device: IntArray) -> tuple[GradientSum, ...]:
    """Return the gradients of every operation with parameters."""
    sums = []
    first = 0
    for operation, cut in zip(split.graph.ops, split.cuts, strict=True):
        where = device[first : first + cut.parts]
        if operation.gradient_bytes:
            rows = {
                place: (first + np.flatnonzero(where == place)).tolist()
                for place in np.unique(where).tolist()
            }
            divided = operation.split(cut.dimension).divides_parameters
            sums.append(GradientSum(operation.gradient_bytes, rows, divided))
        first += cut.parts
    return tuple(sums)
