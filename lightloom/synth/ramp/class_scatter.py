"""Scatter on RAMP in two portions: circuits of the root, each heard by a class.

One circuit reaches all nodes of one number, their *class* (see `broadcast_tree`). The
root feeds as many classes as it has transceivers, then as many others; of classes that
are left, the blocks go to members of the first ones, who pass them on while the root
feeds its last. All transceivers of the root are busy all the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.plans.plan import Partition
from lightloom.synth.ramp.broadcast_tree import grow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp


@dataclass(frozen=True, eq=False)
class _Fed:
    """A class that hears a circuit, or several, in one portion.

    `first`, `width`: its first transceiver, and how many. `heard`: classes whose blocks
    are sent, that which hears them first.
    """

    feeder: int
    first: int
    width: int
    heard: tuple[int, ...]


def scatter_rows(fabric: Ramp, task: Collective) -> int:
    """Return how many rows there are at most; members hear blocks of their class."""
    _, members = _members(fabric, task)
    longest = max(map(len, members), default=0)
    every = [one for part in _fed(fabric, task, members) for one in part]
    most = max((len(one.heard) for one in every), default=0)
    return task.rank_count * longest * most


def scatter_stream(fabric: Ramp, task: Collective) -> Iterator[Segment | StepPart]:
    """Yield the segments, each with its step."""
    rank, members = _members(fabric, task)
    cut = Partition(task.rank_count, task.chunk_count)
    for index, part in enumerate(_fed(fabric, task, members)):
        circuits, rows = [], []
        for one in part:
            hearers = members[one.heard[0]]
            used = one.first + np.arange(one.width, dtype=np.int64)
            circuits.append((one.feeder, hearers, used))
            blocks = np.sort(rank[np.concatenate([members[i] for i in one.heard])])
            starts = np.flatnonzero(np.diff(blocks, prepend=-2) > 1)
            ends = np.append(starts[1:], len(blocks)) - 1
            lo, hi = cut.boundary(blocks[starts]), cut.boundary(blocks[ends] + 1)
            rows.append((one.feeder, hearers, lo, hi))
        yield Segment(0, index, _circuits(circuits))
        yield StepPart(index, 0, index, _transfers(rows))


def _members(fabric: Ramp, task: Collective) -> tuple[IntArray, list[IntArray]]:
    """Return the rank of each node, and the nodes of each class but the root."""
    rank = np.zeros(fabric.node_count, dtype=np.int64)
    rank[list(task.nodes)] = np.arange(task.rank_count)
    root = task.nodes[task.root_rank]
    tree = grow(fabric, task.nodes, root, fabric.groups)
    cuts = np.flatnonzero(np.diff(tree.of_class)) + 1
    return rank, np.split(tree.node, cuts) if len(tree.node) else []


def _fed(fabric: Ramp, task: Collective, members: list[IntArray]) -> list[list[_Fed]]:
    """Return which classes are fed in each portion, and by whom."""
    root = task.nodes[task.root_rank]
    ports, count = fabric.groups, len(members)
    if count <= ports:
        width = ports // max(count, 1)
        alone = [_Fed(root, c * width, width, (c,)) for c in range(count)]
        return [alone] if alone else []
    passed = range(2 * ports, count)
    first = [
        _Fed(root, c, 1, (c, *(one for one in passed if one % ports == c)))
        for c in range(ports)
    ]
    late = range(ports, min(2 * ports, count))
    width = ports // len(late)
    then = [_Fed(root, (c - ports) * width, width, (c,)) for c in late]
    then += [_Fed(int(members[c % ports][0]), c // ports - 2, 1, (c,)) for c in passed]
    return [first, then]


def _circuits(fed: list[tuple[int, IntArray, IntArray]]) -> Circuits:
    """Return a multicast circuit for each class and transceiver."""
    src, dst, used, circuit, count = [], [], [], [], 0
    for feeder, hearers, transceivers in fed:
        width = len(transceivers)
        src.append(np.full(len(hearers) * width, feeder, dtype=np.int64))
        dst.append(np.repeat(hearers, width))
        used.append(np.tile(transceivers, len(hearers)))
        circuit.append(np.tile(count + np.arange(width), len(hearers)))
        count += width
    columns = map(np.concatenate, (src, dst, used, circuit))
    src_all, dst_all, used_all, circuit_all = columns
    return Circuits(src_all, dst_all, transceiver=used_all, multicast=circuit_all)


def _transfers(fed: list[tuple[int, IntArray, IntArray, IntArray]]) -> Transfers:
    """Return the rows: to each that hears a circuit the same ranges of chunks."""
    src = [np.full(len(to) * len(lo), one, dtype=np.int64) for one, to, lo, _ in fed]
    dst = [np.repeat(to, len(lo)) for _, to, lo, _ in fed]
    first = np.concatenate([np.tile(lo, len(to)) for _, to, lo, _ in fed])
    end = np.concatenate([np.tile(hi, len(to)) for _, to, _, hi in fed])
    op = np.full(len(first), int(Op.COPY), dtype=np.int64)
    return Transfers(np.concatenate(src), np.concatenate(dst), first, end, op)
