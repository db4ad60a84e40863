"""Computation graphs cut into parts of about equal time, to be placed on devices."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Literal

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Workload

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.computation import ComputationGraph, Operation, Split


QUANTUM_PS = 10_000_000
"""10 us, as in SiP-ML, section 4."""

_MOST_EDGES = 20_000_000
"""Edges between parts that fit a few gigabytes."""


@dataclass(frozen=True)
class OperationCut:
    """How an operation is cut.

    `dimension`: a dimension of one of its splits.
    """

    dimension: str
    parts: int


@dataclass(frozen=True, eq=False)
class SplitGraph:
    """A computation graph in parts, and what each part is.

    `cuts`: how each of its operations is. `workload`: its parts, to be placed. Parts of
    an operation follow one another; backward parts, where they are apart, follow all
    forward ones. `op`, `part`: shape (parts of all operations,): row in `graph`, and
    number of the part. `backward`: shape (parts of all operations,), boolean: whether
    it is the backward pass.
    """

    graph: ComputationGraph
    cuts: tuple[OperationCut, ...]
    workload: Workload
    op: IntArray
    part: IntArray
    backward: np.typing.NDArray[np.bool_]


def split_graph(
    graph: ComputationGraph,
    *,
    devices: int,
    distance: int,
    device_memory_bytes: int | None = None,
    quantum_ps: int = QUANTUM_PS,
    backward: Literal["apart", "in-place"] = "apart",
) -> SplitGraph:
    """Return a computation graph in parts of about a quantum each, as a workload.

    Each operation is cut along one dimension into as many parts as bring the shorter of
    its two passes nearest to the quantum, at most `devices` and a divisor of it where
    one is allowed, so that slices nest (SiP-ML, section 3.2, step i); or shorter ones,
    as many as an operation that it hears from has, for a short operation would gather
    all parts of a long one on few devices. Of several dimensions the most efficient is
    taken: fewest quanta until all parts are done, where parts with more partners than
    the distance allows take turns on half as many devices; then fewest bytes that leave
    their device, gradients of copies included.

    `quantum_ps`: the time of a part to aim at, at least 1. `backward`: ``apart``: the
    backward pass of a part is an operation of its own, free to run further down the
    ring, which it is sent activations and parameters for; ``in-place``: it runs where
    the part does, its time added, and gradients go up the ring. Memory is counted where
    a part runs forward.

    Raises `InputError`: a quantum or number of devices below 1, or too many edges;
    `InfeasibleError` if the parts fit the memory at no cut allowed; says how many
    devices, or parts, would do.

    O(operations * splits * divisors + edges). Deterministic. With the backward pass
    apart, the distance holds from a part's forward pass to its backward one, all
    layers in between included: graphs whose parts all talk to each other then end up
    on few devices. In place they do not.
    """
    for name, value in (("quantum_ps", quantum_ps), ("devices", devices)):
        if value < 1:
            raise InputError("too few", where=name, found=value, allowed="1 or more")
    if backward not in ("apart", "in-place"):
        allowed = "apart, in-place"
        raise InputError(
            "unknown way", where="backward", found=backward, allowed=allowed
        )
    chooser = _Chooser(graph, quantum_ps, devices, distance, device_memory_bytes)
    cuts = chooser.cuts()
    table = _Parts(graph, cuts, apart=backward == "apart")
    if sum(table.memories()) > (device_memory_bytes or 0) * devices:
        cuts = chooser.cuts(thrifty=device_memory_bytes is not None)
        table = _Parts(graph, cuts, apart=backward == "apart")
    workload = Workload(
        table.names(),
        table.durations(),
        table.memories(),
        *table.edges(),
        devices,
        distance,
        device_memory_bytes,
    )
    _refuse_memory(workload)
    return SplitGraph(graph, cuts, workload, table.op, table.part, table.backward)


class _Chooser:
    """Chooses dimension and number of parts, sources first."""

    def __init__(
        self,
        graph: ComputationGraph,
        quantum_ps: int,
        most: int,
        distance: int,
        memory_bytes: int | None,
    ) -> None:
        self._graph, self._quantum, self._most = graph, quantum_ps, most
        self._distance, self._memory = distance, memory_bytes
        self._divisors = [count for count in range(1, most + 1) if not most % count]
        self._heard: list[list[tuple[int, int]]] = [[] for _ in graph.ops]
        for src, dst, size in zip(graph.src, graph.dst, graph.bytes, strict=True):
            self._heard[dst].append((src, size))
        self._cuts: list[OperationCut | None] = [None] * len(graph.ops)

    def cuts(self, *, thrifty: bool = False) -> tuple[OperationCut, ...]:
        """Return the cut of every operation, those of least memory if `thrifty`."""
        before = {
            op: sorted(src for src, _ in heard) for op, heard in enumerate(self._heard)
        }
        for op in TopologicalSorter(before).static_order():
            operation = self._graph.ops[op]
            options = []
            for number, split in enumerate(operation.splits):
                fewest = self._fewest(split)
                last = min(self._most, split.most_parts)
                if fewest is None or fewest > last:
                    continue
                heard = (self._cuts[src] for src, _ in self._heard[op])
                counts = {cut.parts for cut in heard if cut and cut.parts >= fewest}
                counts.add(self._near_quantum(split, fewest, last))
                for parts in sorted(count for count in counts if count <= last):
                    score = self._score(op, split, parts)
                    taken = parts * split.part_memory_bytes(parts) if thrifty else 0
                    options.append((taken, *score, number, -parts, split.dimension))
            if not options:
                raise self._no_cut(operation)
            chosen = min(options)
            self._cuts[op] = OperationCut(chosen[-1], -chosen[-2])
        return tuple(cut for cut in self._cuts if cut is not None)

    def _near_quantum(self, split: Split, fewest: int, last: int) -> int:
        """Return the number of parts whose time is nearest to the quantum.

        Of the divisors of the most parts allowed, as slices of such numbers nest.
        """
        nested = [count for count in self._divisors if fewest <= count <= last]
        return min(
            nested or [fewest, last],
            key=lambda count: (abs(_time(split, count) - self._quantum), count),
        )

    def _fewest(self, split: Split) -> int | None:
        """Return the fewest parts that fit a device, ``None`` if none do."""
        low, high = split.fewest_parts, split.most_parts
        if self._memory is None:
            return low
        if split.part_memory_bytes(high) > self._memory:
            return None
        while low < high:
            middle = (low + high) // 2
            if split.part_memory_bytes(middle) <= self._memory:
                high = middle
            else:
                low = middle + 1
        return low

    def _score(self, op: int, split: Split, parts: int) -> tuple[int, int]:
        """Return how good a cut is: less is better.

        Parts with more partners than a window has devices share half a window, and so
        do the partners.
        """
        own, others, moved, room = 1, 0, 0, self._distance // 2 + 1
        if not split.divides_parameters:
            moved += 2 * (parts - 1) * self._graph.ops[op].gradient_bytes
        for src, size in self._heard[op]:
            cut = self._cuts[src]
            assert cut is not None
            aligned = cut.dimension == split.dimension and not split.whole_input
            moved += moved_bytes(
                size, cut.parts, parts, whole=split.whole_input, aligned=aligned
            )
            partners = max(cut.parts, parts)
            if aligned:
                partners = -(-partners // min(cut.parts, parts))
            if partners > self._distance + 1:
                own = -(-parts // room)
                heard = self._graph.ops[src].split(cut.dimension)
                others += (-(-cut.parts // room) - 1) * _time(heard, cut.parts)
        busy = own * _time(split, parts) + others
        return max(-(-busy // self._quantum), 1), moved

    def _no_cut(self, operation: Operation) -> InfeasibleError:
        """Return the error for an operation that fits a device at no cut."""
        enough = [self._fewest(split) for split in operation.splits]
        would = min((parts for parts in enough if parts is not None), default=None)
        fix = "give devices more memory"
        if would is not None:
            fix = f"allow {would} parts (as many devices), or {fix}"
        what = f"operation {operation.name!r} cannot be cut to fit"
        where = f"{self._graph.name}: splits"
        allowed = f"{self._most} parts at most"
        if self._memory is not None:
            allowed += f" of {self._memory} bytes each"
        return InfeasibleError(what, where=where, allowed=allowed, fix=fix)


def _time(split: Split, parts: int) -> int:
    """Return the shorter pass of a part, of those that take time."""
    times = (split.forward_time_ps(parts), split.backward_time_ps(parts))
    return min((time for time in times if time), default=0)


class _Parts:
    """The rows of a workload: forward parts of every operation, then backward ones."""

    def __init__(
        self, graph: ComputationGraph, cuts: tuple[OperationCut, ...], *, apart: bool
    ) -> None:
        self._graph, self._cuts, self._apart = graph, cuts, apart
        counts = np.array([cut.parts for cut in cuts], dtype=np.int64)
        self._offset = np.concatenate([[0], np.cumsum(counts)])
        self._total = int(self._offset[-1])
        op = np.repeat(np.arange(len(cuts)), counts)
        part = np.arange(self._total) - self._offset[op]
        passes = 2 if apart else 1
        self.op, self.part = np.tile(op, passes), np.tile(part, passes)
        self.backward = np.arange(passes * self._total) >= self._total

    def names(self) -> tuple[str, ...]:
        """Return distinct names of the rows."""
        rows = zip(
            self.op.tolist(), self.part.tolist(), self.backward.tolist(), strict=True
        )
        return tuple(
            f"{self._graph.ops[op].name}#{part}" + (" backward" if back else "")
            for op, part, back in rows
        )

    def durations(self) -> tuple[int, ...]:
        """Return the time of each row."""
        forth, back = [], []
        for operation, cut in zip(self._graph.ops, self._cuts, strict=True):
            split = operation.split(cut.dimension)
            forth += [split.forward_time_ps(cut.parts)] * cut.parts
            back += [split.backward_time_ps(cut.parts)] * cut.parts
        if self._apart:
            return (*forth, *back)
        return tuple(one + other for one, other in zip(forth, back, strict=True))

    def memories(self) -> tuple[int, ...]:
        """Return the memory of each row."""
        forth = []
        for operation, cut in zip(self._graph.ops, self._cuts, strict=True):
            split = operation.split(cut.dimension)
            forth += [split.part_memory_bytes(cut.parts)] * cut.parts
        return (*forth, *([0] * self._total if self._apart else ()))

    def edges(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the edges: forward, backward, and from a part's one to the other."""
        graph, ends = self._graph, zip(self._graph.src, self._graph.dst, strict=True)
        sources, targets, sizes = [], [], []
        count = 0
        for (src, dst), size in zip(ends, graph.bytes, strict=True):
            one, other = self._cuts[src], self._cuts[dst]
            whole = graph.ops[dst].split(other.dimension).whole_input
            aligned = one.dimension == other.dimension and not whole
            count += one.parts + other.parts if aligned else one.parts * other.parts
            if count > _MOST_EDGES:
                what, fix = "too many edges between parts", "cut into fewer parts"
                raise InputError(what, where=graph.name, found=count, fix=fix)
            tails, heads, several = part_edges(
                size, one.parts, other.parts, whole=whole, aligned=aligned
            )
            sources.append(tails + self._offset[src])
            targets.append(heads + self._offset[dst])
            sizes += several
        tail = np.concatenate([np.empty(0, dtype=np.int64), *sources])
        head = np.concatenate([np.empty(0, dtype=np.int64), *targets])
        if not self._apart:
            return tuple(tail.tolist()), tuple(head.tolist()), tuple(sizes)
        rows = np.arange(self._total)
        tail, head = (
            np.concatenate([tail, head + self._total, rows]),
            np.concatenate([head, tail + self._total, rows + self._total]),
        )
        kept = self._kept_bytes()
        return tuple(tail.tolist()), tuple(head.tolist()), (*sizes, *sizes, *kept)

    def _kept_bytes(self) -> list[int]:
        """Return what the backward pass of each part needs of its forward pass."""
        kept = []
        for operation, cut in zip(self._graph.ops, self._cuts, strict=True):
            split = operation.split(cut.dimension)
            share = cut.parts if split.divides_parameters else 1
            size = -(-operation.output_bytes // cut.parts)
            size += -(-operation.parameter_bytes // share)
            kept += [size] * cut.parts
        return kept


def _refuse_memory(workload: Workload) -> None:
    """Raise if the parts together are larger than the devices."""
    most = workload.device_memory_bytes
    needed = sum(workload.memory_bytes)
    if most is None or needed <= most * workload.devices:
        return
    fix = f"use {-(-needed // most)} devices or more" if most else "give some memory"
    what = "the parts need more memory than all devices of a replica have"
    allowed = f"at most {most * workload.devices} bytes"
    raise InfeasibleError(what, where="split", found=needed, allowed=allowed, fix=fix)


def part_edges(
    size_bytes: int, src_parts: int, dst_parts: int, *, whole: bool, aligned: bool
) -> tuple[IntArray, IntArray, list[int]]:
    """Return which part of one operation sends how much to which part of another.

    `whole`: whether each part of the second needs all of it. `aligned`: whether both
    are cut along one dimension; part j of q then needs the slice j/q to (j + 1)/q.

    Returns src, dst, bytes Parts, distinct pairs, and what passes, rounded up; see
    `lightloom.core.computation.Split`.
    """
    if whole or not aligned:
        src = np.repeat(np.arange(src_parts), dst_parts)
        dst = np.tile(np.arange(dst_parts), src_parts)
        share = src_parts if whole else src_parts * dst_parts
        return src, dst, [-(-size_bytes // share)] * len(src)
    # Cuts of both, in units of 1 / (p q) of the whole.
    cuts = np.union1d(
        np.arange(src_parts + 1) * dst_parts, np.arange(dst_parts + 1) * src_parts
    )
    starts, pieces = cuts[:-1], np.diff(cuts).tolist()
    share = src_parts * dst_parts
    sizes = [-(-size_bytes * piece // share) for piece in pieces]
    return starts // dst_parts, starts // src_parts, sizes


def moved_bytes(
    size_bytes: int, src_parts: int, dst_parts: int, *, whole: bool, aligned: bool
) -> int:
    """Return what has to leave its device, parts being on devices in their order.

    Part i of p is where part j of q is if i/p = j/q, as far as that goes.

    `whole`, `aligned`: as in `part_edges`.

    Parts of a batch stay where they are; where each part needs all bytes, half of them
    move to each of two devices:

    >>> moved_bytes(8, 2, 2, whole=False, aligned=True)
    0
    >>> moved_bytes(8, 2, 2, whole=True, aligned=False)
    8
    """
    most = max(src_parts, dst_parts)
    if whole:
        return dst_parts * size_bytes - dst_parts * size_bytes // most
    if not aligned:
        return size_bytes - size_bytes // most
    src, dst, sizes = part_edges(
        size_bytes, src_parts, dst_parts, whole=False, aligned=True
    )
    apart = (src * dst_parts // src_parts != dst) & (
        src != dst * src_parts // dst_parts
    )
    return sum(size for size, away in zip(sizes, apart.tolist(), strict=True) if away)
