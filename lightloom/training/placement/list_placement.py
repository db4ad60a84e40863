"""Places operations one by one, most urgent first, each where it starts soonest."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from lightloom.core.columns import column
from lightloom.core.errors import NoAnswerError

if TYPE_CHECKING:
    import random

    from lightloom.training.placement.operation_graph import WorkloadGraph


Urgency: TypeAlias = Literal["tail", "ready", "row", "sweep"]
"""What an operation is urgent by; see `ListRule`."""


@dataclass(frozen=True)
class ListRule:
    """How a list placement decides.

    `urgency`: which of the operations that have all they need comes first: ``tail``,
    the one with most time from its start to the end; ``ready``, the one that could
    start first; ``row``, in topological order, as in SiP-ML; ``sweep``, in that order
    too, but what is near in the graph one after the other. `room_percent`: share of the
    distance that an operation leaves free to its children. `choice`: among devices:
    ``soonest`` start, the busiest and then the nearest of them; ``idle``: soonest
    start, the one that has been free longest and then the nearest; ``first``: soonest
    start, then the nearest; ``fill``: the first that has memory, however late. Nearest
    is the first of a window, and for an operation that hears from nobody the one in its
    middle. `noise_percent`: by how much an urgency is changed at random, at most.
    `band`: keep what is connected to `distance` + 1 devices in a row. `heeded`: windows
    wider than so many times the distance are left out of account; ``None``: all are
    heeded.
    """

    urgency: Urgency = "ready"
    room_percent: int = 0
    choice: Literal["soonest", "idle", "first", "fill"] = "soonest"
    noise_percent: int = 0
    band: bool = False
    heeded: int | None = 3


@dataclass(frozen=True, eq=False)
class Listed:
    """What a list placement made.

    `order`: operations in the order in which they were placed, a topological one.
    """

    device: list[int]
    order: list[int]


class WorkLimit:
    """How much work is left to do.

    `left`: operations to place, times the devices to compare, and edges to follow.
    """

    def __init__(self, left: int) -> None:
        self.left = left


def list_placement(
    graph: WorkloadGraph, rule: ListRule, rng: random.Random, limit: WorkLimit
) -> Listed:
    """Return a device for each operation, and the operations in order of placement.

    Raises `DeadEndError` if an operation fits the memory of no device in its window, a
    window was left out of account that should not have been, or the work is done.

    O(operations (distance + log operations) + edges) and the windows' work.
    Deterministic for a state of `rng`.
    """
    distance = graph.workload.distance
    widest = None if rule.heeded is None else rule.heeded * distance
    windows = Windows(graph, widest=widest, visits=limit.left, band=rule.band)
    first = _firsts(graph, rule, rng)
    run = _ListPlacement(graph, rule, windows, first)
    try:
        return run.run()
    finally:
        compared = min(distance, graph.workload.devices) + 8
        limit.left -= windows.visited + run.placed * compared


def _firsts(graph: WorkloadGraph, rule: ListRule, rng: random.Random) -> list[int]:
    """Return what decides between operations that could start: less comes first."""
    ops, firsts = range(len(graph.order)), [0] * len(graph.order)
    if rule.urgency == "sweep":
        near = _nearness(graph)
        for place, op in enumerate(
            sorted(ops, key=lambda op: (graph.level[op], near[op]))
        ):
            firsts[op] = place
        return firsts
    if rule.urgency == "row":
        for place, op in enumerate(graph.order):
            firsts[op] = place
        return firsts
    lasts, most = graph.workload.duration_ps, rule.noise_percent
    exact = [-last - tail for last, tail in zip(lasts, graph.tail_ps, strict=True)]
    if not most:
        return exact
    return [time * (100 + rng.randint(-most, most)) // 100 for time in exact]


def _nearness(graph: WorkloadGraph) -> list[int]:
    """Return a rank of each operation in which neighbours are near each other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    src, dst = column(graph.workload.src), column(graph.workload.dst)
    ops = len(graph.order)
    ends = (np.concatenate([src, dst]), np.concatenate([dst, src]))
    ones = np.ones(2 * len(src), dtype=np.int8)
    links = coo_array((ones, ends), shape=(ops, ops)).tocsr()
    rank = np.empty(ops, dtype=np.int64)
    rank[reverse_cuthill_mckee(links, symmetric_mode=True)] = np.arange(ops)
    return rank.tolist()


class _ListPlacement:
    """One run: what is placed so far, and what each device has done and holds."""

    def __init__(
        self, graph: WorkloadGraph, rule: ListRule, windows: Windows, first: list[int]
    ) -> None:
        workload = graph.workload
        self._graph, self._rule, self._windows = graph, rule, windows
        self._first = first
        self._devices = workload.devices
        self._room = workload.distance * rule.room_percent // 100
        self._free_ps = [0] * workload.devices
        self._by_time = [(0, device) for device in range(workload.devices)]
        most = workload.device_memory_bytes
        limited = most is not None and sum(workload.memory_bytes) > most
        self._left = [most or 0] * workload.devices if limited else None
        self._device = [-1] * len(workload.op)
        self._end = [0] * len(workload.op)
        self.placed = 0

    def run(self) -> Listed:
        """Place everything."""
        parents, children = self._graph.parents, self._graph.children
        missing = [len(some) for some in parents]
        heap = [self._entry(op, 0) for op, left in enumerate(missing) if not left]
        heapq.heapify(heap)
        order: list[int] = []
        while heap:
            op = heapq.heappop(heap)[-1]
            ready = max((self._end[src] for src in parents[op]), default=0)
            self._take(op, ready, self._choose(op, ready))
            order.append(op)
            self.placed += 1
            for child in children[op]:
                missing[child] -= 1
                if not missing[child]:
                    soonest = max(self._end[src] for src in parents[child])
                    heapq.heappush(heap, self._entry(child, soonest))
        return Listed(self._device, order)

    def _entry(self, op: int, ready: int) -> tuple[int, int, int]:
        """Return what the heap sorts by: less is more urgent."""
        if self._rule.urgency == "ready":
            return ready, self._first[op], op
        return self._first[op], 0, op

    def _take(self, op: int, ready: int, position: int) -> None:
        """Run an operation at a position."""
        workload = self._graph.workload
        if not self._graph.unlimited:
            self._windows.place(op, position)
        device = position % self._devices
        self._device[op] = device
        if self._left is not None:
            self._left[device] -= workload.memory_bytes[op]
        lasts = workload.duration_ps[op]
        if not lasts:  # in nobody's way
            self._end[op] = ready
            return
        free = self._free_ps[device]
        self._end[op] = max(ready, free) + lasts
        self._free_ps[device] = self._end[op]
        del self._by_time[bisect_left(self._by_time, (free, device))]
        insort(self._by_time, (self._end[op], device))

    def _choose(self, op: int, ready: int) -> int:
        """Return the position of an operation."""
        if self._graph.unlimited or self._windows.is_anywhere(op):
            return self._anywhere(op, ready)
        # The range that is good for the children first, then the whole.
        wide = self._windows.low[op], self._windows.high[op]
        for low, high in (self._windows.with_room(op, self._room), wide):
            position = self._within(op, ready, low, min(high, low + self._devices - 1))
            if position is not None:
                return position
        raise DeadEndError("an operation fits no device of its window")

    def _within(self, op: int, ready: int, low: int, high: int) -> int | None:
        """Return the best position of a range, or ``None`` where memory is short."""
        choice, best = self._rule.choice, None
        busy = {"soonest": -1, "idle": 1}.get(choice, 0)
        needed = self._graph.workload.memory_bytes[op]
        middle = None if self._graph.parents[op] else low + high
        for position in range(low, high + 1):
            device = position % self._devices
            if self._left is not None and self._left[device] < needed:
                continue
            free = self._free_ps[device]
            start = max(ready, free)
            if choice == "fill":
                return position
            off = abs(2 * position - middle) if middle is not None else position
            key = (start, busy * free, off, -position)
            if best is None or key < best:
                best = key
        return None if best is None else -best[-1]

    def _anywhere(self, op: int, ready: int) -> int:
        """Return the best of all devices."""
        if self._left is not None or self._rule.choice == "fill":
            position = self._within(op, ready, 0, self._devices - 1)
            if position is None:
                raise DeadEndError("an operation fits no device")
            return position
        # The busiest of those that are free by then, else the first to be free.
        place = bisect_right(self._by_time, (ready, self._devices)) - 1
        free = self._by_time[max(place, 0)][0]
        return self._by_time[bisect_left(self._by_time, (free, -1))][1]


_ANYWHERE = 2**60
"""A position farther than any: sums of a few fit 63 bits."""


class DeadEndError(NoAnswerError):
    """An operation has nowhere to go, or to find out takes too long."""


class Windows:
    """Ranges of positions that keep every edge within the distance.

    Positions are integers; device d is at d, d + k, d - k, ... for k devices, so that
    an edge from p to q asks for p <= q <= p + distance with no ring to think of. A
    range is what these inequalities, followed along chains of edges from what is
    placed, leave to an operation. Whatever position in its range an operation takes,
    the rest can still be placed, as inequalities between pairs do not interact.

    `widest`: ranges wider than this are taken for no limit: less work, but with a dead
    end now and then. ``None``: every range counts. `visits`: most edges to follow
    before giving up. `band`: keep what is connected to `distance` + 1 devices in a row,
    where it always fits.

    `low`, `high`: first and last position of each operation.
    """

    def __init__(
        self, graph: WorkloadGraph, *, widest: int | None, visits: int, band: bool
    ) -> None:
        ops = len(graph.parents)
        self._graph = graph
        self._distance = graph.workload.distance
        self._widest = _ANYWHERE if widest is None else widest
        self._most = visits
        self.visited = 0
        self._band = band
        self._placed = [False] * ops
        self.low = [-_ANYWHERE] * ops
        self.high = [_ANYWHERE] * ops

    def is_anywhere(self, op: int) -> bool:
        """Return whether nothing that is placed limits an operation."""
        return self.high[op] - self.low[op] >= _ANYWHERE

    def with_room(self, op: int, room: int) -> tuple[int, int]:
        """Return the range that leaves each child a range of `room` + 1 positions.

        The whole range where no position does.

        `room`: positions that each child should keep beyond one, 0 or more.
        """
        first, last = self.low[op], self.high[op]
        low, high = first, last
        for child in self._graph.children[op]:
            low = max(low, self.low[child] - self._distance + room)
            high = min(high, self.high[child] - room)
        return (low, high) if low <= high else (first, last)

    def place(self, op: int, position: int) -> None:
        """Fix the position of an operation, and narrow what follows from it.

        `position`: a position of its range ``low[op]`` to ``high[op]``.

        Raises `DeadEndError` if an operation has no position left, or the visits are
        used up.
        """
        if self._band and self.is_anywhere(op):
            self._fence(op, position)
        self.low[op] = self.high[op] = position
        self._placed[op] = True
        stack = [op]
        low, high, distance = self.low, self.high, self._distance
        children, parents = self._graph.children, self._graph.parents
        while stack:
            near = stack.pop()
            self.visited += len(children[near]) + len(parents[near])
            if self.visited > self._most:
                raise DeadEndError("the windows of the operations take too long")
            first, last = low[near], high[near]
            stack.extend(
                child
                for child in children[near]
                if self._narrow(child, first, last + distance)
            )
            stack.extend(
                parent
                for parent in parents[near]
                if not self._placed[parent]
                and self._narrow(parent, first - distance, last)
            )

    def _narrow(self, op: int, first: int, last: int) -> bool:
        """Cut a range; return whether it became narrower."""
        low, high = max(self.low[op], first), min(self.high[op], last)
        if low == self.low[op] and high == self.high[op]:
            return False
        if low > high:
            raise DeadEndError("an operation has nowhere to go")
        if high - low > self._widest:
            return False
        self.low[op], self.high[op] = low, high
        return True

    def _fence(self, op: int, position: int) -> None:
        """Keep all that is connected to an operation near its position."""
        seen, stack = {op}, [op]
        while stack:
            near = stack.pop()
            self.low[near], self.high[near] = position, position + self._distance
            for other in (*self._graph.parents[near], *self._graph.children[near]):
                if other not in seen:
                    seen.add(other)
                    stack.append(other)


def depth_first_placement(graph: WorkloadGraph) -> Listed:
    """Return a placement that gives each device an equal part of a depth-first order.

    The order is a topological one, so that positions never fall along an edge, and
    goes on from an operation to what it alone was waited for by: what runs side by side
    is in different parts. Parts are as small as the longest edge allows, or such that
    `distance` + 1 devices hold all of them, which always fits. Memory is left out of
    account.

    O(operations + edges).
    """
    workload = graph.workload
    order = _depth_first(graph)
    before = [0] * len(order)
    work = [workload.duration_ps[op] for op in order]
    for op, done in zip(order, accumulate(work, initial=0), strict=False):
        before[op] = done
    ends = zip(workload.src, workload.dst, strict=True)
    longest = max((before[dst] - before[src] for src, dst in ends), default=0)
    far = min(workload.distance, workload.devices - 1)
    parts, whole = far + 1, sum(work) + 1
    if far * whole > parts * longest and longest:
        parts, whole = far, longest
    device = [done * parts // whole % workload.devices for done in before]
    return Listed(device, sorted(order, key=lambda op: graph.head_ps[op]))


def _depth_first(graph: WorkloadGraph) -> list[int]:
    """Return a topological order that goes on from what it came to last."""
    missing = [len(some) for some in graph.parents]
    stack = [op for op in reversed(graph.order) if not missing[op]]
    order = []
    while stack:
        op = stack.pop()
        order.append(op)
        for child in reversed(graph.children[op]):
            missing[child] -= 1
            if not missing[child]:
                stack.append(child)
    return order
