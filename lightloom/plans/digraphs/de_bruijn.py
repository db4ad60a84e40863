"""De Bruijn digraphs whose arcs fall into complete bipartite groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


@dataclass(frozen=True)
class DeBruijn:
    """Arcs from every node v to d v, d v + 1, ..., d v + d - 1 modulo n = d b.

    Imase and Itoh (1981), where the degree d divides n. Every node is within
    ceil(log_d n) arcs of every other. Arcs fall into b groups: all d nodes that are
    s modulo b have arcs to the same d nodes s d, s d + 1, ...

    `degree`: arcs out of and into a node d, loops included.
    """

    degree: int
    groups: int

    @property
    def ranks(self) -> int:
        """Number of nodes n."""
        return self.degree * self.groups

    def tails(self, group: int) -> IntArray:
        """Return the nodes that the arcs of a group leave, ascending."""
        return np.arange(group, self.ranks, self.groups, dtype=np.int64)

    def heads(self, group: int) -> IntArray:
        """Return the nodes that the arcs of a group enter, ascending."""
        first = group * self.degree
        return np.arange(first, first + self.degree, dtype=np.int64)

    def after(self) -> IntArray:
        """Return the heads of the arcs out of every node, shape (n, d)."""
        node = np.arange(self.ranks, dtype=np.int64)
        return node[:, None] % self.groups * self.degree + np.arange(self.degree)

    def before(self) -> IntArray:
        """Return the tails of the arcs into every node, shape (n, d)."""
        node = np.arange(self.ranks, dtype=np.int64)
        return node[:, None] // self.degree + np.arange(self.degree) * self.groups

    def ports(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return a port of 0 to d - 1 for arcs; those of a port are a permutation."""
        ports: IntArray = (src // self.groups + dst % self.degree) % self.degree
        return ports
