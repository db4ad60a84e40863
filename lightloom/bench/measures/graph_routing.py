"""Certified routing on graphs that no fabric of the catalogue has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.bench.measures import Measure
from lightloom.core.errors import InputError, NoAnswerError
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.least_congestion.certified_routing import certified_routing
from lightloom.routing.graph import Graph
from lightloom.validate.certificates.congestion import check_edge_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import Instance

_CLOSED = 0.05
_DEGREES = {"regular-3": 3, "regular-4": 4}


def run(
    instance: Instance, seed: int, graph: str, copies: int = 1, widest: int = 1
) -> Iterator[int]:
    """Route permutations and prove the bound again.

    Parameters
    ----------
    instance
        Names a grid of light paths, or how many nodes there are.
    seed
        What capacities and permutations are drawn from.
    graph
        ``closed-edges``: the grid, 5 % of its edges closed. ``regular-3`` or
        ``regular-4``: a random regular graph of this degree, edges both ways.
    copies
        Permutations.
    widest
        Most capacity of an edge, drawn uniformly from 1.
    """
    import networkx as nx

    nodes = instance.fabric.node_count
    rng = np.random.default_rng([seed, copies, widest, nodes])
    if graph in _DEGREES:
        network = nx.random_regular_graph(_DEGREES[graph], nodes, seed=seed)
        edges = sorted(network.to_directed().edges)
        tail, head = np.array(edges, dtype=np.int64).T
        made = Graph(nodes, tail, head, rng.integers(1, widest + 1, len(tail)))
    elif graph == "closed-edges" and isinstance(instance.fabric, Lightpath):
        capacity = rng.integers(1, widest + 1, len(instance.fabric.edges()[0]))
        capacity[rng.random(len(capacity)) < _CLOSED] = 0
        made = Graph.of_grid(instance.fabric, capacity)
    else:
        what, allowed = "unknown graph", ", ".join(["closed-edges", *_DEGREES])
        raise InputError(what, found=graph, allowed=allowed)
    src = np.tile(np.arange(nodes), copies)
    dst = np.concatenate([rng.permutation(nodes) for _ in range(copies)])
    src, dst = src[src != dst], dst[src != dst]
    yield len(src)
    found = certified_routing(made, src, dst)
    if found.witness is None:
        raise NoAnswerError("the bound has no witness", found=graph)
    proven = check_edge_lengths(nodes, made.edges, src, dst, found.witness)
    if proven != found.bound:
        what = "the witness proves another bound"
        raise NoAnswerError(what, found=proven, allowed=str(found.bound))
    yield found.congestion - found.bound


MEASURE = Measure(
    "graph-routing",
    "route permutations on a grid with closed edges, or on a random regular graph",
    "requests, congestion above the bound",
    ("make", "route"),
    run,
)
