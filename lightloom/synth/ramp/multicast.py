"""Broadcast and scatter on RAMP, along multicast circuits.

A transceiver sends one wavelength to any number of groups at once, and all racks of a
group hear it, so one circuit reaches all nodes of one number: their *class*.

Broadcast goes along a pipelined tree. The root feeds a class; its members, and so on,
each feed further classes, until every class has a feeder. The tree stays as it is while
the buffer passes in pieces (RAMP paper, section 6.1.5 and equation (1), corrected in
``docs/spec/errata.md``).

Scatter goes in two portions. The root feeds as many classes as it has transceivers,
then as many others; of classes that are left, the blocks go to members of the first
ones, who pass them on while the root feeds its last. All transceivers of the root are
busy all the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.core.units import transmission_ps
from lightloom.plans.plan import Partition
from lightloom.synth.ramp.node_box import joined_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp


@dataclass(frozen=True, eq=False)
class Tree:
    """Who feeds whom.

    `fanout`: classes that a node feeds at most, each with so many transceivers less.
    `feeder`: node that feeds each class, shape (classes,). `level`: how many hops each
    class is from the root, at least 1. `slot`: which of its feeder's classes each is,
    below `fanout`. `node`, `of_class`: every node but the root, and its class, sorted
    by class, then node.
    """

    fabric: Ramp
    fanout: int
    feeder: IntArray
    level: IntArray
    slot: IntArray
    node: IntArray
    of_class: IntArray

    @property
    def depth(self) -> int:
        """Hops from the root to the last class."""
        return int(self.level.max(initial=0))

    @property
    def members(self) -> list[IntArray]:
        """Nodes of each class but the root."""
        cuts = np.flatnonzero(np.diff(self.of_class)) + 1
        return np.split(self.node, cuts) if len(self.node) else []

    @property
    def transceivers(self) -> int:
        """Transceivers that feed a class."""
        return self.fabric.groups // self.fanout


@dataclass(frozen=True)
class Pipeline:
    """How a broadcast is done.

    `pieces`: pieces that the buffer passes in, k in the paper.
    """

    fanout: int
    pieces: int
    predicted_ps: int


def grow(fabric: Ramp, nodes: tuple[int, ...], root: int, fanout: int) -> Tree:
    """Return the tree from a root to all other nodes, breadth first.

    `fanout`: number of classes (nodes of one number in their racks) that a node feeds,
    1 to the groups.
    """
    others = np.array(sorted(set(nodes) - {root}), dtype=np.int64)
    numbers = others % fabric.nodes_per_rack
    # The root's own number comes first: its class is nearest to it in every sense.
    order = np.lexsort((others, numbers, numbers != root % fabric.nodes_per_rack))
    node, number = others[order], numbers[order]
    fresh = np.ones(len(node), dtype=np.bool_)
    fresh[1:] = number[1:] != number[:-1]
    of_class = np.cumsum(fresh) - 1
    count = int(fresh.sum())
    # Nodes in the order in which the data reach them; each feeds `fanout` classes.
    line = np.concatenate([np.array([root], dtype=np.int64), node])
    place = np.arange(count, dtype=np.int64) // fanout
    level = np.ones(count, dtype=np.int64)
    for fed in np.flatnonzero(place > 0).tolist():
        level[fed] = level[of_class[place[fed] - 1]] + 1
    slot = np.arange(count, dtype=np.int64) % fanout
    return Tree(fabric, fanout, line[place], level, slot, node, of_class)


def best_pipeline(
    fabric: Ramp, nodes: tuple[int, ...], root: int, size_bytes: int
) -> Pipeline:
    """Return the fastest of the pipelined trees, the least fanout among equals.

    For depth h and rate r of a class, k pieces of m bytes take k + h - 1 steps, and
    ``(k + h - 1) (alpha + m / (k r))`` is least near k = sqrt(m (h - 1) / (alpha r)).
    """
    best: Pipeline | None = None
    fanout = 1
    while fanout <= fabric.groups:
        tree = grow(fabric, nodes, root, fanout)
        rate = tree.transceivers * fabric.transceiver_bits_per_s
        size_ps = transmission_ps(size_bytes, rate)
        ideal = isqrt(size_ps * max(tree.depth - 1, 0) // max(fabric.alpha_ps, 1))
        for near in (ideal, ideal + 1):
            pieces = min(max(near, 1), size_bytes)
            piece_ps = transmission_ps(-(-size_bytes // pieces), rate)
            time_ps = (pieces + tree.depth - 1) * (fabric.alpha_ps + piece_ps)
            if best is None or time_ps < best.predicted_ps:
                best = Pipeline(fanout, pieces, time_ps)
        fanout *= 2
    assert best is not None
    return best


@dataclass(frozen=True, eq=False)
class PipelinedTree:
    """A broadcast along a tree.

    `collective`: its chunk count chosen. `pieces`: pieces that the buffer passes in.
    """

    collective: Collective
    tree: Tree
    pieces: int

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield the one segment, and the steps in which the pieces pass."""
        tree, chunks = self.tree, self.collective.chunk_count
        if not len(tree.node):
            return
        yield Segment(0, 0, tree_circuits(tree))
        cut = Partition(min(self.pieces, chunks), chunks)
        src, level = tree.feeder[tree.of_class], tree.level[tree.of_class]
        for step in range(cut.parts + tree.depth - 1):
            piece = step - level + 1
            moving = (piece >= 0) & (piece < cut.parts)
            lo, hi = cut.boundary(piece[moving]), cut.boundary(piece[moving] + 1)
            op = np.full(len(lo), int(Op.COPY), dtype=np.int64)
            rows = Transfers(src[moving], tree.node[moving], lo, hi, op)
            yield StepPart(step, 0, 0, rows)


def tree_circuits(tree: Tree) -> Circuits:
    """Return the circuits of a tree, a multicast circuit a class and transceiver."""
    used = np.arange(tree.transceivers, dtype=np.int64)
    columns = zip(tree.feeder.tolist(), tree.members, tree.slot.tolist(), strict=True)
    return _circuits(
        [
            (feeder, hearers, slot * tree.transceivers + used)
            for feeder, hearers, slot in columns
        ]
    )


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


@dataclass(frozen=True, eq=False)
class PortionScatter:
    """A scatter in two portions; `events` needs the chunk count of its collective."""

    fabric: Ramp
    collective: Collective

    @cached_property
    def most_rows(self) -> int:
        """How many rows there are at most; members hear blocks of their class."""
        longest = max(map(len, self._members), default=0)
        classes = [len(fed.heard) for portion in self._portions for fed in portion]
        return self.collective.rank_count * longest * max(classes, default=0)

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield the segments, each with its step."""
        task, members = self.collective, self._members
        nodes = np.arange(self.fabric.node_count, dtype=np.int64)
        rank = np.zeros_like(nodes)
        rank[list(task.nodes)] = np.arange(task.rank_count)
        cut = Partition(task.rank_count, task.chunk_count)
        for index, portion in enumerate(self._portions):
            circuits, ends, blocks = [], [], []
            for fed in portion:
                hearers = members[fed.heard[0]]
                used = fed.first + np.arange(fed.width, dtype=np.int64)
                circuits.append((fed.feeder, hearers, used))
                heard = np.concatenate([members[number] for number in fed.heard])
                dst = np.repeat(hearers, len(heard))
                ends.append(np.stack([np.full_like(dst, fed.feeder), dst]))
                blocks.append(np.tile(rank[heard], len(hearers)))
            yield Segment(0, index, _circuits(circuits))
            src, dst = np.hstack(ends)
            block = np.concatenate(blocks)
            moved = joined_rows(nodes, (src, dst), block, cut.boundary, Op.COPY)
            yield StepPart(index, 0, index, moved)

    @cached_property
    def _members(self) -> list[IntArray]:
        """Nodes of each class but the root."""
        task = self.collective
        root = task.nodes[task.root_rank]
        return grow(self.fabric, task.nodes, root, self.fabric.groups).members

    @cached_property
    def _portions(self) -> list[list[_Fed]]:
        """Which classes are fed in each portion, and by whom."""
        root = self.collective.nodes[self.collective.root_rank]
        members = self._members
        ports, count = self.fabric.groups, len(members)
        if count <= ports:
            width = ports // max(count, 1)
            alone = [_Fed(root, c * width, width, (c,)) for c in range(count)]
            return [alone] if alone else []
        passed = range(2 * ports, count)
        first = [
            _Fed(root, c, 1, (c, *(late for late in passed if late % ports == c)))
            for c in range(ports)
        ]
        late = range(ports, min(2 * ports, count))
        width = ports // len(late)
        then = [_Fed(root, (c - ports) * width, width, (c,)) for c in late]
        then += [
            _Fed(int(members[c % ports][0]), c // ports - 2, 1, (c,)) for c in passed
        ]
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
