"""Jobs that share a fabric: who has which nodes, and how broken up the rest is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from lightloom.core.errors import InfeasibleError, InputError, nearest

Blocks: TypeAlias = Literal["any", "preferred", "required"]
"""Whether a job has to lie in one contiguous block of nodes."""


@dataclass(frozen=True)
class Fragmentation:
    """How broken up the free nodes are.

    `blocks`: length of each block of free nodes, the longest first. On a ring the last
    node and node 0 are neighbours.
    """

    free: int
    blocks: tuple[int, ...]

    @property
    def largest(self) -> int:
        """Length of the longest block: the most nodes a contiguous job can have."""
        return self.blocks[0] if self.blocks else 0

    @property
    def share(self) -> Fraction:
        """Part of the free nodes outside the longest block; 0 where none is free."""
        return (
            Fraction(self.free - self.largest, self.free) if self.free else Fraction()
        )


class JobMap:
    """The nodes of a fabric, and the jobs that have some of them for themselves.

    A job gets the shortest block that is long enough, of several the one with the
    least first node, and the beginning of it; so long blocks are kept for jobs that
    need them. Nodes are given in the order in which they stand, on a ring past the last
    node too, so that a job's ranks are neighbours.

    `node_count`: nodes of the fabric, 1 or more. `ring`: whether node 0 follows the
    last node, as on a ring of fibre.

    Raises `InputError`: no nodes.
    """

    def __init__(self, node_count: int, *, ring: bool = False) -> None:
        if node_count < 1:
            what, allowed = "a fabric without nodes", "1 or more"
            raise InputError(
                what, where="node_count", found=node_count, allowed=allowed
            )
        self.node_count = node_count
        self.ring = ring
        self._owner: list[str | None] = [None] * node_count
        self._jobs: dict[str, tuple[int, ...]] = {}

    def jobs(self) -> dict[str, tuple[int, ...]]:
        """Return the nodes of every job, by name, sorted."""
        return dict(sorted(self._jobs.items()))

    def owner(self, node: int) -> str | None:
        """Return the job that has a node, or ``None`` if it is free."""
        return self._owner[node]

    def allocate(
        self, job: str, count: int, blocks: Blocks = "required"
    ) -> tuple[int, ...]:
        """Give nodes to a new job and return them, in the order of its ranks.

        `count`: how many it needs, 1 or more. `blocks`: ``required``: one contiguous
        block. ``preferred``: one if there is one, else as few blocks as will do, the
        longest first. ``any``: the free nodes of least number, as on switches, where
        all nodes are alike.

        Raises `InputError`: the job has nodes, or needs none, or more than there are;
        `InfeasibleError`: too few nodes are free, or none of their blocks is long
        enough; the message says how many there are.
        """
        if job in self._jobs:
            fix = "release it first, or give the job another name"
            raise InputError("a job that has its nodes", found=job, fix=fix)
        if count < 1:
            where = f"job {job}"
            what, allowed = "a job without nodes", "1 or more"
            raise InputError(what, where=where, found=count, allowed=allowed)
        nodes = self._choose(job, count, blocks)
        for node in nodes:
            self._owner[node] = job
        self._jobs[job] = nodes
        return nodes

    def release(self, job: str) -> tuple[int, ...]:
        """Free the nodes of a job and return them.

        Raises `InputError`: there is no such job (nearest names suggested).
        """
        if job not in self._jobs:
            fix = nearest(job, self._jobs)
            raise InputError("unknown job", found=job, fix=fix)
        nodes = self._jobs.pop(job)
        for node in nodes:
            self._owner[node] = None
        return nodes

    def fragmentation(self) -> Fragmentation:
        """Return how broken up the free nodes are, in O(nodes)."""
        lengths = sorted((length for _, length in self.free_blocks()), reverse=True)
        return Fragmentation(sum(lengths), tuple(lengths))

    def free_blocks(self) -> list[tuple[int, int]]:
        """Return (first node, length) of each longest run of free nodes, sorted."""
        runs: list[tuple[int, int]] = []
        for node, owner in enumerate(self._owner):
            if owner is not None:
                continue
            if runs and sum(runs[-1]) == node:
                runs[-1] = runs[-1][0], runs[-1][1] + 1
            else:
                runs.append((node, 1))
        joined = self.ring and len(runs) > 1 and runs[0][0] == 0
        if joined and sum(runs[-1]) == self.node_count:
            runs[-1] = runs[-1][0], runs[-1][1] + runs[0][1]
            del runs[0]
        return runs

    def _choose(self, job: str, count: int, blocks: Blocks) -> tuple[int, ...]:
        """Return the nodes that a job is to have, or raise."""
        runs = self.free_blocks()
        free = sum(length for _, length in runs)
        if count > self.node_count:
            what = f"job {job} needs {count} nodes and the fabric has {self.node_count}"
            raise InputError(what, fix="ask for fewer, or use a larger fabric")
        if count > free:
            what = f"job {job} needs {count} nodes and {free} are free"
            raise InfeasibleError(what, fix="wait until a job releases its nodes")
        if blocks == "any":
            idle = (node for node, owner in enumerate(self._owner) if owner is None)
            return tuple(next(idle) for _ in range(count))
        fitting = [(length, first) for first, length in runs if length >= count]
        if fitting:
            return self._run(min(fitting)[1], count)
        if blocks == "required":
            most = max(length for _, length in runs)
            what = f"job {job} needs {count} nodes in one block"
            what += f"; {free} are free, the longest block of them has {most}"
            fix = "release a job between two blocks, or allow several blocks"
            raise InfeasibleError(what, fix=fix)
        nodes: list[int] = []
        for first, length in sorted(runs, key=lambda run: (-run[1], run[0])):
            nodes += self._run(first, min(length, count - len(nodes)))
        return tuple(nodes)

    def _run(self, first: int, count: int) -> tuple[int, ...]:
        return tuple((first + step) % self.node_count for step in range(count))
