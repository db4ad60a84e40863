"""The replay of iterations again: everything looked at anew at every instant.

Slow and plain, with fractions for shares; shares nothing with the program but records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.iteration import Iteration

Pair = tuple[int, int]
UNIT = 8 * 10**12
"""Bits times 10**12 in a byte."""


@dataclass
class Flow:
    """Data of a pair on the move."""

    job: int
    pair: Pair
    left: int
    rate: int = 0


@dataclass
class Naive:
    """An iteration on links whose rates may change in time.

    Attributes
    ----------
    links_of
        The links that a pair crosses.
    rate_of
        Rate of a link at a time.
    changes
        Times at which rates change.
    alpha_ps
        What a transfer waits; an all-reduce waits it in each step.
    latency_ps, minimum_ps
        What an operation costs.
    """

    iteration: Iteration
    links_of: Callable[[int, int], list[int]]
    rate_of: Callable[[int, int], int]
    changes: list[int] = field(default_factory=list)
    alpha_ps: int = 0
    latency_ps: int = 0
    minimum_ps: int = 0

    def run(self) -> list[int]:
        """Return the end of each operation, and then of each collective."""
        links = self.iteration.dependencies
        self.now = 0
        self.count = len(self.iteration.operations)
        tasks = self.iteration.task_count
        self.end = [-1] * tasks
        self.running: dict[int, int] = {}
        self.given = [False] * len(links)
        self.asked: dict[int, int] = {}
        self.flows: list[Flow] = []
        self.begun: set[int] = set()
        self.collected: set[int] = set()
        while -1 in self.end:
            self.look()
            while self._settle():
                pass
            self._share()
            later = [*self.running.values(), *self.asked.values(), *self.changes]
            later += [
                self.now + ceil(Fraction(flow.left, flow.rate))
                for flow in self.flows
                if flow.rate
            ]
            later = [time for time in later if time > self.now]
            if not later:
                break
            for flow in self.flows:
                flow.left -= flow.rate * (min(later) - self.now)
            self.now = min(later)
        return self.end

    def look(self) -> None:
        """Do what is to be done at an instant before anything ends; for others."""

    def arrived(self, flows: list[Flow]) -> None:
        """Note flows that begin; for others."""

    def _settle(self) -> bool:
        """Let one more thing happen now; return whether something did."""
        return self._ends() or self._moves() or self._leaves() or self._begin()

    def _ends(self) -> bool:
        for op, end in list(self.running.items()):
            if end <= self.now:
                del self.running[op]
                self.end[op] = end
                return True
        return False

    def _moves(self) -> bool:
        for flow in self.flows:
            if flow.left <= 0:
                self.flows.remove(flow)
                if not any(other.job == flow.job for other in self.flows):
                    self._done(flow.job)
                return True
        for job, time in list(self.asked.items()):
            if time <= self.now:
                del self.asked[job]
                come = self._flows(job)
                self.flows += come
                self.arrived(come)
                if not come:
                    self._done(job)
                return True
        return False

    def _leaves(self) -> bool:
        rows = self.iteration.dependencies
        for row in range(len(rows)):
            src, dst = int(rows.src[row]), int(rows.dst[row])
            if self.end[src] < 0 or self.given[row] or row in self.begun:
                continue
            device = self.iteration.operations.device
            if rows.bytes[row] and device[src] != device[dst]:
                self.begun.add(row)
                self.asked[row] = self.now + self.alpha_ps
            else:
                self.given[row] = True
            return True
        return False

    def _begin(self) -> bool:
        """Begin a task that waits for nothing, now that all that ends now has ended."""
        ops, rows = self.iteration.operations, self.iteration.dependencies
        ready = [
            task
            for task in range(len(self.end))
            if self.end[task] < 0
            and task not in self.running
            and task not in self.collected
            and all(
                self.given[row] for row in range(len(rows)) if rows.dst[row] == task
            )
        ]
        for task in ready:
            if task >= self.count:
                self.collected.add(task)
                job = len(rows) + task - self.count
                ranks = len(self.iteration.collectives.devices[task - self.count])
                steps = 2 * (ranks - 1) if self._flows(job) else 0
                self.asked[job] = self.now + steps * self.alpha_ps
                return True
            if not ops.duration_ps[task]:
                self.end[task] = self.now
                return True
        busy = {int(ops.device[op]) for op in self.running}
        free = [op for op in ready if int(ops.device[op]) not in busy]
        if not free:
            return False
        first = min(free, key=lambda op: (ops.priority[op], op))
        lasts = self.latency_ps + max(int(ops.duration_ps[first]), self.minimum_ps)
        self.running[first] = self.now + lasts
        return True

    def _flows(self, job: int) -> list[Flow]:
        rows, ops = self.iteration.dependencies, self.iteration.operations
        if job < len(rows):
            pair = int(ops.device[rows.src[job]]), int(ops.device[rows.dst[job]])
            return [Flow(job, pair, int(rows.bytes[job]) * UNIT)]
        group = self.iteration.collectives
        ring = group.devices[job - len(rows)].tolist()
        size = int(group.bytes[job - len(rows)])
        each = ceil(Fraction(2 * (len(ring) - 1) * size, len(ring)))
        return [
            Flow(job, (ring[at - 1], ring[at]), each * UNIT)
            for at in range(len(ring))
            if each
        ]

    def _done(self, job: int) -> None:
        rows = len(self.iteration.dependencies)
        if job < rows:
            self.given[job] = True
        else:
            self.end[self.count + job - rows] = self.now

    def _share(self) -> None:
        """Fill links: raise all flows together, stop those on links that are full."""
        open_flows = list(range(len(self.flows)))
        on = [self.links_of(*flow.pair) for flow in self.flows]
        left = {
            link: Fraction(self.rate_of(link, self.now))
            for links in on
            for link in links
        }
        while open_flows:
            number = {
                link: sum(on[flow].count(link) for flow in open_flows) for link in left
            }
            least = min(left[link] / number[link] for link in left if number[link])
            full = {
                link
                for link in left
                if number[link] and left[link] / number[link] == least
            }
            stop = [flow for flow in open_flows if full & set(on[flow])]
            for flow in stop:
                self.flows[flow].rate = floor(least)
                for link in on[flow]:
                    left[link] -= least
            open_flows = [flow for flow in open_flows if flow not in stop]
