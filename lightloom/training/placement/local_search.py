"""Improves a placement by small moves, most of them on the critical path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.training.placement.list_placement import Listed
from lightloom.training.placement.operation_graph import ends_ps

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from lightloom.training.placement.operation_graph import WorkloadGraph


_HISTORY = 200
"""Moves ago whose result a worse one is compared with, as late acceptance has it."""
_WEIGHT = 64
"""How much more the makespan counts than what operations end too late."""


class LocalSearch:
    """Late acceptance hill climbing over devices and order of operations.

    A move is kept if the result is no worse than the present one, or than the one so
    many moves ago. What counts is the makespan and, so that plateaus have a slope, by
    how much each operation ends too late for the bound to be met. Moves keep to windows
    and memory:

    - an operation goes to another device of its window;
    - two operations change devices;
    - an operation goes anywhere and pulls along those that it would leave too far
      behind, and these pull others;
    - an operation is moved in the order, between what it needs and what needs it.

    `listed`: devices and order to begin with, feasible. `rng`: decides; the same state,
    the same answer. `bound_ps`: no makespan is less: there a search ends.
    """

    def __init__(
        self, graph: WorkloadGraph, listed: Listed, rng: random.Random, bound_ps: int
    ) -> None:
        self._graph, self._rng, self._bound_ps = graph, rng, bound_ps
        self._windows = RingWindows(graph)
        self._device, self._order = list(listed.device), list(listed.order)
        self._rank = [0] * len(self._order)
        for place, op in enumerate(self._order):
            self._rank[op] = place
        workload = graph.workload
        most = workload.device_memory_bytes
        self._limited = most is not None and sum(workload.memory_bytes) > most
        self._left = [most or 0] * workload.devices
        for op, place in enumerate(self._device):
            self._left[place] -= workload.memory_bytes[op]
        self._cost, self.best_ps, self._critical = self._evaluate()
        self._history = [self._cost] * _HISTORY
        self.best = Listed(list(self._device), list(self._order))
        self._moves = 0

    def run(self, moves: int) -> None:
        """Try so many moves, or until the bound is met."""
        for _ in range(moves):
            if self.best_ps <= self._bound_ps:
                return
            undo = self._move()
            if undo is None:
                continue
            cost, makespan, critical = self._evaluate()
            slot = self._moves % _HISTORY
            self._moves += 1
            if cost > self._cost and cost > self._history[slot]:
                self._apply(undo)
            else:
                self._cost, self._critical = cost, critical
                if makespan < self.best_ps:
                    self.best_ps = makespan
                    self.best = Listed(list(self._device), list(self._order))
            self._history[slot] = min(self._history[slot], self._cost)

    def _evaluate(self) -> tuple[int, int, list[int]]:
        """Return cost, makespan, and a chain of operations that makes it."""
        end, waits_for = ends_ps(self._graph, self._device, self._order)
        makespan = max(end)
        op = end.index(makespan)
        critical = []
        while op >= 0:
            critical.append(op)
            op = waits_for[op]
        late = sum(
            max(0, time + tail - self._bound_ps)
            for time, tail in zip(end, self._graph.tail_ps, strict=True)
        )
        return _WEIGHT * makespan + late, makespan, critical

    def _move(self) -> list[tuple[int, int, int]] | None:
        """Change something; return how to undo it, ``None`` if nothing changed."""
        rng = self._rng
        everyone = len(self._order)
        op = rng.choice(self._critical)
        if rng.random() < 0.25:
            op = rng.randrange(everyone)
        kind = rng.random()
        if kind < 0.4:
            allowed = self._windows.of(op, self._device)
            allowed &= ~(1 << self._device[op])
            if allowed:
                return self._moved([(op, rng.choice(members(allowed)))])
            kind = 0.6
        if kind < 0.5:
            return self._swap(op, rng.randrange(everyone))
        if kind < 0.7 and not self._graph.unlimited:
            return self._pull(op, rng.randrange(self._graph.workload.devices))
        return self._reorder(op)

    def _moved(self, moves: list[tuple[int, int]]) -> list[tuple[int, int, int]] | None:
        """Move operations to devices; return the way back, ``None`` if too large."""
        back = [(op, self._device[op], -1) for op, _ in moves]
        self._apply([(op, place, -1) for op, place in moves])
        if self._limited and min(self._left[place] for _, place in moves) < 0:
            self._apply(back)
            return None
        return back

    def _apply(self, changes: list[tuple[int, int, int]]) -> None:
        """Put operations on devices, or where a rank is given, back in the order."""
        for op, place, rank in changes:
            if rank >= 0:
                self._shift(op, rank)
                continue
            size = self._graph.workload.memory_bytes[op]
            self._left[self._device[op]] += size
            self._left[place] -= size
            self._device[op] = place

    def _swap(self, one: int, other: int) -> list[tuple[int, int, int]] | None:
        device, windows = self._device, self._windows
        if device[one] == device[other]:
            return None
        pair = [(one, device[other]), (other, device[one])]
        undo = self._moved(pair)
        if undo is None:
            return None
        if any(not windows.of(op, device) >> place & 1 for op, place in pair):
            self._apply(undo)
            return None
        return undo

    def _pull(self, op: int, place: int) -> list[tuple[int, int, int]] | None:
        """Move an operation anywhere, and others after it; each of them once."""
        moved = {op: place}
        stack = [op]
        while stack:
            near = stack.pop()
            here = moved[near]
            for is_parent, others in (
                (True, self._graph.parents[near]),
                (False, self._graph.children[near]),
            ):
                for other in others:
                    there = moved.get(other, self._device[other])
                    to = self._windows.towards(there, here, is_parent=is_parent)
                    if to == there:
                        continue
                    if other in moved:
                        return None
                    moved[other] = to
                    stack.append(other)
        return self._moved([*moved.items()])

    def _reorder(self, op: int) -> list[tuple[int, int, int]] | None:
        rank, graph = self._rank, self._graph
        first = max((rank[some] + 1 for some in graph.parents[op]), default=0)
        last = min(
            (rank[some] - 1 for some in graph.children[op]),
            default=len(self._order) - 1,
        )
        if first >= last:
            return None
        old, new = rank[op], self._rng.randint(first, last)
        if new == old:
            return None
        self._shift(op, new)
        return [(op, self._device[op], old)]

    def _shift(self, op: int, new: int) -> None:
        """Give an operation another rank."""
        old, order = self._rank[op], self._order
        order.insert(new, order.pop(old))
        for place in range(min(old, new), max(old, new) + 1):
            self._rank[order[place]] = place


class RingWindows:
    """The window of each operation, given where its neighbours are.

    Bit d of a set is device d. Windows wrap round the ring, and where the distance is
    more than half of it two of them may meet in two places; sets know no difference.

    `down`, `up`: for each device, those within the distance further down, or up, the
    ring.
    """

    def __init__(self, graph: WorkloadGraph) -> None:
        devices = graph.workload.devices
        self._graph = graph
        self._devices = devices
        self._distance = min(graph.workload.distance, devices - 1)
        self.everywhere = (1 << devices) - 1
        arc = (1 << (self._distance + 1)) - 1
        self.down = [self._turned(arc, device) for device in range(devices)]
        self.up = [
            self._turned(arc, device - self._distance) for device in range(devices)
        ]

    def _turned(self, arc: int, by: int) -> int:
        """Return a set, every device `by` further down the ring."""
        by %= self._devices
        return ((arc << by) | (arc >> (self._devices - by))) & self.everywhere

    def of_parents(self, op: int, device: Sequence[int]) -> int:
        """Return the devices within the distance of all that `op` hears from.

        `device`: device of every operation, shape (operations,); those of the parents
        are read.
        """
        allowed = self.everywhere
        for parent in self._graph.parents[op]:
            allowed &= self.down[device[parent]]
        return allowed

    def of(self, op: int, device: Sequence[int]) -> int:
        """Return the devices that all neighbours of `op` allow.

        `device`: device of every operation, shape (operations,); that of `op` does not
        matter.
        """
        allowed = self.of_parents(op, device)
        for child in self._graph.children[op]:
            allowed &= self.up[device[child]]
        return allowed

    def first_of(self, window: int) -> int:
        """Return the first device that starts a run of a window; 0 if it has no end."""
        starts = window & ~self._turned(window, 1)
        return (starts & -starts).bit_length() - 1 if starts else 0

    def towards(self, device: int, other: int, *, is_parent: bool) -> int:
        """Return the device nearest to `device` that may talk to `other`.

        As a parent of what runs on `other`, or as a child of it.
        """
        if is_parent:
            hops, ahead = (other - device) % self._devices, 1
        else:
            hops, ahead = (device - other) % self._devices, -1
        if hops <= self._distance:
            return device
        short, long = hops - self._distance, self._devices - hops
        by = ahead * short if short <= long else -ahead * long
        return (device + by) % self._devices


def members(devices: int) -> list[int]:
    """Return the devices of a set, in order."""
    devices_of_set = []
    while devices:
        lowest = devices & -devices
        devices_of_set.append(lowest.bit_length() - 1)
        devices ^= lowest
    return devices_of_set
