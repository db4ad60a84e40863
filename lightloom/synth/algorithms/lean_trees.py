"""Trees over a De Bruijn digraph that hand blocks on only where they are needed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.digraphs.de_bruijn import DeBruijn
from lightloom.synth.digraphs.kautz_graph import ColouredArcs, Digraph

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


def lean_graph(ranks: int, degree: int) -> tuple[DeBruijn, int] | None:
    """Return the De Bruijn digraph on so many ranks, and in how many rounds it gossips.

    ``None`` unless n = q d^(D - 1) for a q of 1 to d and a D of 2 or more.
    """
    rounds, tail = 1, 1
    while degree > 1 and tail * degree <= ranks:
        rounds, tail = rounds + 1, tail * degree
    if rounds == 1 or ranks % tail:
        return None
    if tail == ranks:
        rounds -= 1
    return (DeBruijn(degree, ranks // degree), rounds) if rounds > 1 else None


@functools.lru_cache(maxsize=4)
def lean_arcs(graph: DeBruijn) -> ColouredArcs:
    """Return the arcs of a De Bruijn digraph without its loops, with their ports."""
    dst = graph.after().reshape(-1)
    src = np.repeat(np.arange(graph.ranks, dtype=np.int64), graph.degree)
    src, dst = src[src != dst], dst[src != dst]
    key = src * graph.ranks + dst
    order = np.argsort(key)
    return ColouredArcs(graph.ranks, key[order], graph.ports(src, dst)[order])


@functools.lru_cache(maxsize=4)
def lean_trees(graph: DeBruijn, rounds: int, *, backwards: bool = False) -> Digraph:
    """Return the tree of every rank's block, with few inner ranks.

    In the last round a block reaches all ranks that lack it: from one rank for
    each group of arcs, of the d / q that are D - 1 arcs away from its origin. Only
    those and the ranks on the way to them have it before. Shortest paths would bring it
    earlier to ranks whose arcs have less to do in the last round than others.

    Parameters
    ----------
    graph
        A digraph of `lean_graph` with n = q d^(D - 1) ranks.
    rounds
        Its D.
    backwards
        With all arcs turned around.

    Returns
    -------
    The trees; ``distance[u, v]`` is the round in which v gets the block of u.
    """
    ranks, groups, degree = graph.ranks, graph.groups, graph.degree
    hops = rounds - 1
    fold = degree**hops
    origin = np.arange(ranks, dtype=np.int64)[:, None]
    group = np.arange(groups, dtype=np.int64)[None, :]
    turn = origin // groups + origin // (ranks // fold) + group
    if backwards:
        # Of the heads of a group, those from which a walk ends at the origin: one
        # residue modulo n / d^(D - 1).
        stride = ranks // fold
        first = group * degree
        first = first + (origin // fold - first) % stride
        inner = first + turn % (degree // stride) * stride
        more = (origin - fold * inner) % ranks
        way = [
            (degree**hop * inner + more // degree ** (hops - hop)) % ranks
            for hop in range(hops, -1, -1)
        ]
        last = np.arange(ranks, dtype=np.int64) % groups
    else:
        # Of the tails of a group, those where a walk from the origin ends.
        first = (group - fold * origin) % groups
        more = first + turn % (fold // groups) * groups
        way = [
            (degree**hop * origin + more // degree ** (hops - hop)) % ranks
            for hop in range(hops + 1)
        ]
        last = np.arange(ranks, dtype=np.int64) // degree
    return _grown(way, last)


def _grown(way: list[IntArray], last: IntArray) -> Digraph:
    """Return trees from the ranks on the ways to each group, and what all others do.

    ``way[t][u, g]`` is where the block of u is after t arcs on its way to group g;
    ``last[v]`` is the group that brings rank v what it lacks.
    """
    ranks, rounds = len(last), len(way)
    origin = np.arange(ranks, dtype=np.int64)[:, None]
    distance = np.full((ranks, ranks), rounds, dtype=np.int64)
    before = way[-1][:, last]
    np.fill_diagonal(distance, 0)
    for hop in range(1, rounds):
        here, there = way[hop - 1], way[hop]
        new = distance[origin, there] == rounds
        row = np.broadcast_to(origin, there.shape)[new]
        distance[row, there[new]] = hop
        before[row, there[new]] = here[new]
    return Digraph(distance, before)
