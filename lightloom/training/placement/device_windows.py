"""Where on the ring each operation may still go, as others are placed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import NoAnswerError

if TYPE_CHECKING:
    from lightloom.training.placement.operation_graph import WorkloadGraph

_ANYWHERE = 2**60


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
