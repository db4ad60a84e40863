"""Operations that few devices share: on how many they are, and how long they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from lightloom.core.task import Workload

Job: TypeAlias = tuple[int, int, int]
"""An operation's head, duration and tail."""

Ranges: TypeAlias = Mapping[int, tuple[int, int]]
"""First and last displacement of operations, by their rows."""


class NowhereError(Exception):
    """An operation has no place: the case that was assumed cannot be."""


@dataclass(frozen=True, eq=False)
class RingGraph:
    """A workload with neighbours at hand, and with what a case assumes.

    `parents`, `children`: whom each operation hears from, and who hears from it.
    `order`: operations, each after its parents. `near`: for each operation: another,
    and how many devices further down the ring that one runs, at least and at most
    (negative: up the ring).
    """

    workload: Workload
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    near: tuple[tuple[tuple[int, int, int], ...], ...]

    @property
    def limited(self) -> bool:
        """Whether the distance keeps some devices from talking to each other."""
        return self.workload.distance < self.workload.devices - 1

    def reversed(self) -> RingGraph:
        """Return the graph with time turned round."""
        order = tuple(reversed(self.order))
        return replace(self, parents=self.children, children=self.parents, order=order)

    def within(self, one: int, other: int, low: int, high: int) -> RingGraph:
        """Return the graph where `other` is `low` to `high` devices after `one`."""
        near = list(self.near)
        near[one] = (*_without(near[one], other), (other, low, high))
        near[other] = (*_without(near[other], one), (one, -high, -low))
        return replace(self, near=tuple(near))

    def ordered(self, one: int, other: int) -> RingGraph:
        """Return the graph where `one` ends before `other` starts.

        Raises `graphlib.CycleError` if `other` leads to `one`.
        """
        parents, children = list(self.parents), list(self.children)
        parents[other] = tuple(sorted({*parents[other], one}))
        children[one] = tuple(sorted({*children[one], other}))
        return replace(
            self,
            parents=tuple(parents),
            children=tuple(children),
            order=_sorted(parents),
        )


def ring_graph(workload: Workload) -> RingGraph:
    """Return the graph of a workload."""
    parents: list[list[int]] = [[] for _ in workload.op]
    children: list[list[int]] = [[] for _ in workload.op]
    near: list[list[tuple[int, int, int]]] = [[] for _ in workload.op]
    far = workload.distance
    for src, dst in sorted(set(zip(workload.src, workload.dst, strict=True))):
        parents[dst].append(src)
        children[src].append(dst)
        near[src].append((dst, 0, far))
        near[dst].append((src, -far, 0))
    return RingGraph(
        workload,
        tuple(tuple(some) for some in parents),
        tuple(tuple(some) for some in children),
        _sorted(parents),
        tuple(tuple(some) for some in near),
    )


def _sorted(parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())


def _without(
    near: tuple[tuple[int, int, int], ...], other: int
) -> tuple[tuple[int, int, int], ...]:
    return tuple(entry for entry in near if entry[0] != other)


def displacements(
    graph: RingGraph, centre: int, reach: int
) -> dict[int, tuple[int, int]]:
    """Return how far down the ring operations can be from a centre.

    In whatever placement, each operation that is returned is some whole number of
    devices within its range down the ring from the centre, modulo the devices.

    *Proof.* Give the centre the place 0. An operation that is first met from another,
    `low` to `high` devices down the ring, gets the place so far from the other's that
    this difference has: it is on its device. Of two operations that have places, the
    difference is `low` to `high` modulo the devices; where their ranges leave no
    multiple of the devices but 0, it is so without the modulo, and narrows both
    ranges. All else that is known is left out.

    Returns of operations within reach: first and last place; fewer places than devices.

    Raises `NowhereError` if an operation has no place left: what the graph assumes is
    impossible.
    """
    devices = graph.workload.devices
    ranges = {centre: (0, 0)}
    frontier = [centre]
    for _ in range(reach):
        fresh: list[int] = []
        for op in frontier:
            low, high = ranges[op]
            for other, first, last in graph.near[op]:
                if other not in ranges and high - low + last - first + 1 < devices:
                    ranges[other] = low + first, high + last
                    fresh.append(other)
        if not fresh:
            break
        _narrow(graph, ranges, fresh)
        frontier = fresh
    return ranges


def _narrow(
    graph: RingGraph, ranges: dict[int, tuple[int, int]], fresh: Sequence[int]
) -> None:
    """Cut ranges by all that is near each other without the modulo."""
    devices = graph.workload.devices
    stack = list(fresh)
    while stack:
        op = stack.pop()
        for other, first, last in graph.near[op]:
            if other not in ranges:
                continue
            (low, high), (least, most) = ranges[op], ranges[other]
            if least - high <= last - devices or most - low >= first + devices:
                continue
            here = max(low, least - last), min(high, most - first)
            there = max(least, low + first), min(most, high + last)
            if here[0] > here[1] or there[0] > there[1]:
                raise NowhereError
            if here != (low, high):
                ranges[op] = here
                stack.append(op)
            if there != (least, most):
                ranges[other] = there
                stack.append(other)


def room(ranges: Ranges, ops: Iterable[int], devices: int) -> int:
    """Return on how many devices operations can be at most, one or more."""
    lows, highs = zip(*(ranges[op] for op in ops), strict=True)
    return int(max(1, min(devices, max(highs) - min(lows) + 1)))


def lags_ps(graph: RingGraph, op: int, reach: int) -> dict[int, int]:
    """Return how long before the start of an operation its ancestors end at least.

    `reach`: edges on a path to it at most.

    Returns of each ancestor within reach: the longest such path, without its two ends.
    """
    lasts = graph.workload.duration_ps
    found: dict[int, int] = {}
    frontier = {op: 0}
    for _ in range(reach):
        following: dict[int, int] = {}
        for near, lag in frontier.items():
            before = lag + (lasts[near] if near != op else 0)
            for parent in graph.parents[near]:
                if before > found.get(parent, -1):
                    found[parent] = following[parent] = before
        frontier = following
    return found


def crowd_ps(jobs: Sequence[Job], devices: int) -> int:
    r"""Return the time before which not all of a crowd are done, tails included.

    The largest of three bounds on n operations with heads $r$, durations $p$ and tails
    $q$ on at most m devices, of which j = min(m, n) count:

    - the largest $r + p + q$;
    - the sum of the j least heads, of all durations and of the j least tails, over j.
      On each device that runs something, the time holds the head of the first that it
      runs, all of them, and the tail of the last. If one of j devices runs nothing,
      another runs two or more, one of which may as well run there. (Carlier 1987, of
      parallel machines.) An operation that takes no time may run in the midst of
      another: it is first or last only on a device where all take none, and there its
      own head and tail bound the time;
    - the least head and tail, and between them what some device takes at least: it has
      ceil(n / m) operations or more. If n = m + e <= 2 m, either some device has three,
      or e or more have two: then the e pairs take no less than the 2 e shortest would,
      the longest of these paired with the shortest, and so on inwards.

    `devices`: how many may run them, at least one.
    """
    heads, lasts, tails = (sorted(column) for column in zip(*jobs, strict=True))
    count = min(devices, len(lasts))
    work: int = sum(lasts) + sum(heads[:count]) + sum(tails[:count])
    longest = max(head + last + tail for head, last, tail in jobs)
    shared: int = heads[0] + _shared_ps(lasts, devices) + tails[0]
    return max(longest, -(-work // count), shared)


def _shared_ps(lasts: Sequence[int], devices: int) -> int:
    """Return what some device takes at least; durations in ascending order."""
    excess = len(lasts) - devices
    if excess <= 0:
        return lasts[-1]
    if excess > devices:
        return sum(lasts[: -(-len(lasts) // devices)])
    pairs = max(lasts[one] + lasts[2 * excess - 1 - one] for one in range(excess))
    return min(pairs, sum(lasts[:3])) if len(lasts) > 2 else pairs
