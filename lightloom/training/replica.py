"""The parts of one copy of a model, each on a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.instances.computation_table import computation_graph, gpu_named
from lightloom.training.passes import Passes, replica_passes
from lightloom.training.placement.graph_split import QUANTUM_PS, SplitGraph, split_graph
from lightloom.training.placement.placement_search import place_operations

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.core.training import Training
    from lightloom.training.strategy import Strategy


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
