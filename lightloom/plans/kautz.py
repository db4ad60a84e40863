"""Digraphs of small diameter for any number of nodes, and their shortest paths.

Generalised Kautz digraphs have the least diameter, or nearly. Imase and Itoh (1983):
the arcs into node v come from -(d v + a) mod n, a = 1..d. Every node has d arcs in and
d out, and every node is within ceil(log_d n) arcs of every other.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.edge_colouring import coloured_ports

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


# Up to here sources are matched with arcs where placing them in turn left them uneven.
_MATCHED = 256
_NEVER = np.int64(1) << 40


@dataclass(frozen=True, eq=False)
class Digraph:
    """A digraph on ranks, as its arcs and what shortest paths to take.

    `distance`: ``distance[u, v]``: arcs on a shortest path from u to v. `before`:
    ``before[u, v]``: the node before v on the chosen shortest path from u; the chosen
    paths from u form a tree. Meaningless where u is v.
    """

    distance: IntArray
    before: IntArray


@dataclass(frozen=True, eq=False)
class ColouredArcs:
    """Arcs of a digraph, each with the port that has it.

    `key`: ``src * n + dst`` of each arc, ascending, for n ranks. `port`: port of each
    arc: the arcs of a port are a partial permutation.
    """

    ranks: int
    key: IntArray
    port: IntArray

    def ports_of(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return the port of each arc.

        `src`, `dst`: ends of arcs of the digraph, shape (arcs,).
        """
        where = np.searchsorted(self.key, src * self.ranks + dst)
        ports: IntArray = self.port[where]
        return ports


def kautz_ends(ranks: int, degree: int) -> tuple[IntArray, IntArray]:
    """Return sources and destinations of the arcs, `degree` into every node."""
    dst = np.repeat(np.arange(ranks, dtype=np.int64), degree)
    step = np.tile(np.arange(1, degree + 1, dtype=np.int64), ranks)
    return (-(degree * dst + step) if degree > 1 else dst - 1) % ranks, dst


@functools.lru_cache(maxsize=4)
def kautz_arcs(ranks: int, degree: int) -> ColouredArcs:
    """Return the arcs of the generalised Kautz digraph, without its loops.

    `ranks`: number of nodes n, at least 2. `degree`: arcs into and out of a node, loops
    included: 1 to n - 1. One is a ring.
    """
    src, dst = kautz_ends(ranks, degree)
    key = np.unique((src * ranks + dst)[src != dst])
    return ColouredArcs(ranks, key, coloured_ports(key // ranks, key % ranks))


@functools.lru_cache(maxsize=4)
def shortest_trees(arcs: ColouredArcs, *, backwards: bool = False) -> Digraph:
    """Return shortest paths that load the arcs into each node evenly.

    Node v takes what started at u, t arcs away, from a node that is t - 1 arcs away
    from u: of several the first that has less than an even share of all there is at
    this distance, so that most of it comes in long ranges of u, else the one with
    least so far. Time O(n^2 d).
    """
    src, dst = np.divmod(arcs.key, arcs.ranks)
    if backwards:
        src, dst = dst, src
    order = np.lexsort((src, dst))
    src, dst = src[order], dst[order]
    degree = np.bincount(dst, minlength=arcs.ranks)
    slot = np.arange(len(dst)) - np.repeat(np.cumsum(degree) - degree, degree)
    into = np.full((arcs.ranks, int(degree.max())), -1, dtype=np.int64)
    into[dst, slot] = src
    distance = _distances(into)
    return Digraph(distance, _balanced(into, distance))


def _distances(into: IntArray) -> IntArray:
    """Return all distances, by what is known to each node arc after arc."""
    ranks = len(into)
    known = np.eye(ranks, dtype=np.bool_)  # known[v, u]: v hears of u
    distance = np.where(known, 0, _NEVER)
    length = 0
    while not known.all():
        length += 1
        heard = known.copy()
        for source in into.T:
            heard |= known[source] & (source >= 0)[:, None]
        if (heard == known).all():
            message = "the digraph is not strongly connected"
            raise ValueError(message)
        distance[heard & ~known] = length
        known = heard
    return np.ascontiguousarray(distance.T)


def _balanced(into: IntArray, distance: IntArray) -> IntArray:
    """Return the chosen node before v on the path from u, as [u, v]."""
    ranks, ports = into.shape
    node = np.arange(ranks)
    longest = int(distance.max())
    load = np.zeros((longest + 1, ranks, ports), dtype=np.int64)
    share = np.zeros((longest + 1, ranks), dtype=np.int64)
    for length in range(1, longest + 1):
        share[length] = -(-(distance == length).sum(axis=0) // ports)
    before = np.zeros((ranks, ranks), dtype=np.int64)
    absent = (into < 0) * _NEVER
    for start in range(ranks):
        length = distance[start]
        so_far = load[length, node]
        cost = np.where(so_far < share[length, node][:, None], -1, so_far) + absent
        cost += (distance[start][into] != length[:, None] - 1) * _NEVER
        slot = cost.argmin(axis=1)
        before[start] = into[node, slot]
        load[length, node, slot] += 1
    if ranks <= _MATCHED:
        crowded = load.max(axis=2) > share
        for length, end in np.argwhere(crowded).tolist():
            _rearrange(
                into[end], end, length, distance, before, int(share[length, end])
            )
    return before


def _rearrange(
    into: IntArray,
    end: int,
    length: int,
    distance: IntArray,
    before: IntArray,
    least: int,
) -> None:
    """Choose anew what comes to `end` from `length` arcs away, if that evens it out.

    A matching of those sources with the arcs into the node, each as often as it may
    be loaded.
    """
    start = np.flatnonzero(distance[:, end] == length)
    into = into[into >= 0]
    fits = distance[start[:, None], into] == length - 1
    high = int(np.bincount(before[start, end]).max())
    # Sources with one arc to come by load it, whatever others do.
    forced = fits[fits.sum(axis=1) == 1].sum(axis=0)
    low = max(least, int(forced.max(initial=0)))
    while low < high:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        load = (low + high) // 2
        graph = csr_array(np.repeat(fits, load, axis=1))
        found = maximum_bipartite_matching(graph, perm_type="column")
        if (found >= 0).all():
            before[start, end] = into[found // load]
            high = load
        else:
            low = load + 1


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


# Placing all walks a second time, knowing all others, evens out small digraphs.
_SWEPT_TWICE = 256


def even_walks(src: IntArray, dst: IntArray, distance: IntArray) -> IntArray:
    """Return a shortest walk for every pair, greedily keeping arcs evenly loaded.

    Walks start together and take one arc a hop; what counts is how many take an
    arc in the same hop. Pairs are placed offset by offset, so that pairs placed
    together neither begin nor end at the same node: their first and last arcs are
    compared with all placed before. Time O(n^2 d) for each hop.

    `src`, `dst`: arcs of a strongly connected digraph on nodes 0 to n - 1, no loop and
    none twice. `distance`: ``distance[u, v]``: arcs on a shortest path from u to v.

    Returns nodes, shape (longest distance + 1, n, n): where the walk from u to v is
    after each hop. It stays at v once there.
    """
    ranks, hops = len(distance), int(distance.max(initial=0))
    order = np.lexsort((dst, src))
    src, dst = src[order], dst[order]
    degree = np.bincount(src, minlength=ranks)
    slot = np.arange(len(src)) - np.repeat(np.cumsum(degree) - degree, degree)
    out = np.full((ranks, int(degree.max(initial=1))), -1, dtype=np.int64)
    out[src, slot] = dst
    slot_of = np.zeros((ranks, ranks), dtype=np.int64)
    slot_of[src, dst] = slot
    # One hop more than there is, so that looking one arc ahead needs no exception.
    load = np.zeros((hops + 1, *out.shape), dtype=np.int64)
    at = np.zeros((hops + 1, ranks, ranks), dtype=np.int64)
    node = np.arange(ranks)
    for sweep in range(2 if ranks <= _SWEPT_TWICE else 1):
        for offset in range(1, ranks):
            end = (node + offset) % ranks
            if sweep:
                for hop in range(hops):
                    tail, head = at[hop, node, end], at[hop + 1, node, end]
                    moved = tail != head
                    tail, head = tail[moved], head[moved]
                    np.subtract.at(load[hop], (tail, slot_of[tail, head]), 1)
            _place(node, end, out, slot_of, distance, load, at)
    at[:, node, node] = node
    return at


def _place(
    start: IntArray,
    end: IntArray,
    out: IntArray,
    slot_of: IntArray,
    distance: IntArray,
    load: IntArray,
    at: IntArray,
) -> None:
    """Choose the walks of some pairs, hop by hop, and add them to the loads."""
    here = start.copy()
    at[0, start, end] = start
    for hop in range(len(at) - 1):
        row = np.flatnonzero(here != end)
        tail, head = here[row], end[row]
        following = out[tail]
        left = distance[following, head[:, None]]
        cost = load[hop, tail] ** 2
        ahead = load[hop + 1, following, slot_of[following, head[:, None]]] ** 2
        cost += np.where(left == 1, ahead, 0)
        cost[(following < 0) | (left != distance[tail, head][:, None] - 1)] = _NEVER
        choice = cost.argmin(axis=1)
        np.add.at(load[hop], (tail, choice), 1)
        here[row] = following[np.arange(len(row)), choice]
        at[hop + 1, start, end] = here
