"""One copy of a model: its parts, each on a device, and what they compute and send."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.instances.computation_table import computation_graph, gpu_named
from lightloom.training.placement.graph_split import QUANTUM_PS, SplitGraph, split_graph
from lightloom.training.placement.operation_graph import op_graph
from lightloom.training.placement.placement_search import place_operations

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.core.training import Training
    from lightloom.replay.workload import Launch
    from lightloom.training.strategy import Strategy

    BoolArray = np.typing.NDArray[np.bool_]


_MOST_DEVICES = 2**14
"""Devices of a replica beyond which nobody is told how many would do."""


@dataclass(frozen=True, eq=False)
class Replica:
    """A copy of a model on devices 0 to `devices` - 1.

    `split`: the model in parts; the backward pass of a part runs where the part does.
    `device`: device of each part, shape (parts,). `devices`: how many devices there
    are.
    """

    split: SplitGraph
    device: IntArray
    devices: int

    @cached_property
    def passes(self) -> Passes:
        """What it computes and sends."""
        return replica_passes(self.split, self.device, self.devices)


def cut_replica(
    training: Training,
    local_batch: int,
    devices: int,
    *,
    ports: int | None = None,
    quantum_ps: int = QUANTUM_PS,
) -> SplitGraph:
    """Return a model cut for devices of which each has a few partners.

    Where there are no more devices than ports any two may talk. Otherwise they stand
    on a ring and talk to those near them, forward down the ring and backward up; one
    port is kept for the replica's twin.

    `ports`: partners that a device may have, replicas included; ``None``: any number.

    Raises `InputError`: a number out of its domain; `InfeasibleError`: the memory does
    not suffice, or there are too few ports.
    """
    distance = max(1, devices - 1)
    if ports is not None and devices > ports:
        distance = (ports - 1) // 2
        if not distance:
            raise InfeasibleError(
                "a device has too few partners for a model shared by so many",
                where="model_parallel",
                found=devices,
                allowed=f"{ports} devices where a device has {ports} ports",
            )
    graph = computation_graph(msgspec.structs.replace(training, batch_size=local_batch))
    return split_graph(
        graph,
        devices=devices,
        distance=distance,
        device_memory_bytes=gpu_named(training.gpu).memory_bytes,
        quantum_ps=quantum_ps,
        backward="in-place",
    )


def place_replica(
    training: Training,
    local_batch: int,
    devices: int,
    *,
    ports: int | None = None,
    quantum_ps: int = QUANTUM_PS,
    seed: int = 0,
) -> Replica:
    """Return a model cut, as by `cut_replica`, and placed.

    Raises `InputError`: a number out of its domain; `InfeasibleError`: the memory does
    not suffice, or there are too few ports; `NoAnswerError`: no placement was found
    that fits the memory.
    """
    split = cut_replica(
        training, local_batch, devices, ports=ports, quantum_ps=quantum_ps
    )
    plan = place_operations(split.workload, seed=seed, effort_percent=0)
    return Replica(split, plan.placement.device, devices)


def smallest_fit(training: Training, local_batch: int, ports: int | None) -> int | None:
    """Return the fewest devices whose memory holds a model, ``None`` if very many.

    The parts fit each device and all devices together; whether they can be packed is
    for a placement to say. Found by doubling and halving, in O(log) cuts.

    `ports`: how many others a device can reach at once, ``None`` for all; it limits how
    far apart neighbours are.
    """

    def fits(devices: int) -> bool:
        if devices * memory_bytes < least_bytes:
            return False
        distance = max(1, devices - 1 if ports is None else min(devices, ports) - 1)
        try:
            split_graph(
                graph,
                devices=devices,
                distance=distance,
                device_memory_bytes=memory_bytes,
                backward="in-place",
            )
        except (InfeasibleError, InputError):
            return False
        return True

    graph = computation_graph(msgspec.structs.replace(training, batch_size=local_batch))
    memory_bytes = gpu_named(training.gpu).memory_bytes
    # Between two entries of a table all parts together lie between those two.
    least_bytes = sum(
        min(
            parts * size
            for split in operation.splits
            for parts, size in zip(split.parts, split.memory_bytes, strict=True)
        )
        for operation in graph.ops
    )
    high = 1
    while not fits(high):
        high *= 2
        if high > _MOST_DEVICES:
            return None
    low = high // 2 + 1
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle + 1
    return high


@dataclass(eq=False)
class PlacedReplicas:
    """Replicas by devices, samples and ports; they do not depend on rates.

    `training`: the model, batch and GPU. `quantum_ps`: time that parts aim at (SiP-ML,
    section 3.2). `tell`: told in words what is being done.
    """

    training: Training
    quantum_ps: int = QUANTUM_PS
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda _: None)
    _placed: dict[tuple[int, int, int | None], Replica | str] = field(
        default_factory=dict
    )

    def replica(self, strategy: Strategy, ports: int | None) -> Replica:
        """Return the placed replica of a strategy.

        `strategy`: devices of a replica and samples on each. `ports`: how many others a
        device can reach at once, ``None`` for all.

        Raises `InfeasibleError`: it does not fit the memory, or the ports.
        """
        k, local = strategy.model_parallel, strategy.local_batch
        # Up to as many devices as there are ports, ports make no difference.
        binding = ports if ports is not None and k > ports else None
        key = k, local, binding
        if key not in self._placed:
            self.tell(f"placing {k} devices, {local} samples a replica")
            try:
                self._placed[key] = place_replica(
                    self.training,
                    local,
                    k,
                    ports=binding,
                    quantum_ps=self.quantum_ps,
                    seed=self.seed,
                )
            except (InfeasibleError, NoAnswerError) as problem:
                self._placed[key] = str(problem)
        placed = self._placed[key]
        if isinstance(placed, str):
            raise InfeasibleError(placed)
        return placed

    def parts(self, devices: int, local_batch: int) -> int:
        """Return how many parts replicas have that were placed, 0 for none."""
        key = devices, local_batch
        placed = [one for kept, one in self._placed.items() if kept[:2] == key]
        parts = [len(one.device) for one in placed if not isinstance(one, str)]
        return max(parts, default=0)


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
