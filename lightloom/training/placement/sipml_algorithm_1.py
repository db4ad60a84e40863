"""Algorithm 1 of SiP-ML, with its window corrected and a repair that ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.seed import seeded_random
from lightloom.training.placement.list_placement import (
    ListRule,
    WorkLimit,
    list_placement,
)
from lightloom.training.placement.local_search import RingWindows, members
from lightloom.training.placement.operation_graph import timed

if TYPE_CHECKING:
    from lightloom.core.placement import Placement
    from lightloom.training.placement.operation_graph import WorkloadGraph

_REPAIRS = 200
"""Empty windows that are repaired; past them the repair is taken not to end."""
_VISITS = 3_000_000
"""Edges that all repairs together follow; nothing proves that they end."""
_CHAIN_WORK = 100_000_000
"""Work of the chain, which always keeps to windows: ends only a defect."""


@dataclass(frozen=True, eq=False)
class AlgorithmOneAnswer:
    """What Algorithm 1 made, and how.

    `placement`: it keeps to windows and memory. `repairs`: how often a window was empty
    and operations had to be moved. `chained`: whether the repair did not end, and
    connected operations were put on `distance` + 1 devices in a row instead.
    """

    placement: Placement
    repairs: int
    chained: bool


def algorithm_one(graph: WorkloadGraph) -> AlgorithmOneAnswer:
    """Return the placement of SiP-ML's Algorithm 1 (section 3.2), corrected.

    Operations come in topological order; each goes to the device of its window that is
    free first, the first of several. The window is the intersection of the windows of
    all it hears from, [p, p + distance] modulo the number of devices each: as printed,
    from the nearest parent to the farthest one plus the distance, but round the ring.

    An empty window is repaired as the text says: the operation goes where most of its
    parents may reach it, the others move to the nearest device from which they may,
    parents follow, and then children forward, until all is well. Nothing proves that
    this ends; here it has a limit, and past it connected operations are put on
    `distance` + 1 devices in a row, never back, which always keeps to windows.

    Raises `NoAnswerError` if that does not fit the memory either.

    O(operations * distance + edges), and as much again for each repair.
    """
    run = _AlgorithmOne(graph)
    try:
        device = run.place()
    except _NoRepairError:
        rng = seeded_random(0)
        chain = ListRule(band=True, heeded=None)
        listed = list_placement(graph, chain, rng, WorkLimit(_CHAIN_WORK))
        placement = timed(graph, listed.device, listed.order)
        return AlgorithmOneAnswer(placement, run.repairs, chained=True)
    placement = timed(graph, device, graph.order)
    return AlgorithmOneAnswer(placement, run.repairs, chained=False)


class _NoRepairError(Exception):
    """A repair did not end, or memory is short."""


class _AlgorithmOne:
    def __init__(self, graph: WorkloadGraph) -> None:
        self._graph = graph
        self._windows = RingWindows(graph)
        self._device = [-1] * len(graph.order)
        self._end = [0] * len(graph.order)
        self._free_ps = [0] * graph.workload.devices
        most = graph.workload.device_memory_bytes
        self._left = None if most is None else [most] * graph.workload.devices
        self._visits = _VISITS
        self.repairs = 0

    def place(self) -> list[int]:
        """Return the device of each operation."""
        for place, op in enumerate(self._graph.order):
            window = self._windows.of_parents(op, self._device)
            if window:
                self._run(op, self._first_free(op, window))
                continue
            self.repairs += 1
            if self.repairs > _REPAIRS:
                raise _NoRepairError
            self._device[op] = self._most_reached(op)
            self._repair(op, self._graph.order[: place + 1])
        return self._device

    def _first_free(self, op: int, window: int) -> int:
        """Return the device of a window that is free first, the first of several."""
        if window == self._windows.everywhere and self._left is None:
            return self._free_ps.index(min(self._free_ps))
        devices = members(window)
        count = self._graph.workload.devices
        first = self._windows.first_of(window)
        if self._left is not None:
            needed = self._graph.workload.memory_bytes[op]
            devices = [place for place in devices if self._left[place] >= needed]
            if not devices:
                raise _NoRepairError
        return min(devices, key=lambda d: (self._free_ps[d], (d - first) % count))

    def _run(self, op: int, place: int) -> None:
        workload = self._graph.workload
        ready = max((self._end[src] for src in self._graph.parents[op]), default=0)
        self._device[op] = place
        if self._left is not None:
            self._left[place] -= workload.memory_bytes[op]
        lasts = workload.duration_ps[op]
        self._end[op] = (max(ready, self._free_ps[place]) if lasts else ready) + lasts
        if lasts:
            self._free_ps[place] = self._end[op]

    def _most_reached(self, op: int) -> int:
        """Return the first device that most parents may reach."""
        reached = [0] * self._graph.workload.devices
        for parent in self._graph.parents[op]:
            for place in members(self._windows.down[self._device[parent]]):
                reached[place] += 1
        return reached.index(max(reached))

    def _repair(self, op: int, placed: tuple[int, ...]) -> None:
        """Move placed operations until all edges between them keep to the distance."""
        device, windows, graph = self._device, self._windows, self._graph
        moved = [op]
        while moved:
            while moved:  # backward: parents follow
                near = moved.pop()
                self._visits -= len(graph.parents[near]) + 1
                for parent in graph.parents[near]:
                    to = windows.towards(device[parent], device[near], is_parent=True)
                    if to != device[parent]:
                        device[parent] = to
                        moved.append(parent)
                if self._visits < 0:
                    raise _NoRepairError
            for near in placed:  # forward: children follow
                self._visits -= len(graph.children[near]) + 1
                for child in graph.children[near]:
                    if device[child] < 0:
                        continue
                    to = windows.towards(device[child], device[near], is_parent=False)
                    if to != device[child]:
                        device[child] = to
                        moved.append(child)
        self._rerun(placed)

    def _rerun(self, placed: tuple[int, ...]) -> None:
        """Work out again when devices are free, and what they hold."""
        workload = self._graph.workload
        count = workload.devices
        self._free_ps = [0] * count
        most = workload.device_memory_bytes
        self._left = None if most is None else [most] * count
        self._visits -= len(placed)
        for op in placed:
            self._run(op, self._device[op])
        if self._left is not None and min(self._left) < 0:
            raise _NoRepairError
