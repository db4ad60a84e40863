"""Rounds of LUMORPH as route requests, and how many routes share an edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.plans.algorithms import make_algorithm
from lightloom.routing.congestion import edge_loads
from lightloom.routing.minimum_congestion import minimum_congestion
from lightloom.routing.random_shortest_paths import random_shortest
from lightloom.synth.chunking import choose_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray, Ragged
    from lightloom.instances.fabrics.lightpath import Lightpath

RANDOM, MIN_CONGESTION = "random", "minimum-congestion"
ROUTERS = (RANDOM, MIN_CONGESTION)
CANDIDATES = 4
"""Shortest paths among which ``random`` chooses, by Yen's algorithm."""

Requests = tuple["IntArray", "IntArray"]
"""(sources, destinations), one row a request."""


def rounds(algorithm: str, gpus: int, lasers: int = 16) -> list[list[Requests]]:
    """Return the rounds of an all-reduce, ranks on tiles in row-major order.

    Each round is a list of partial permutations, one for each simultaneous peer:
    a request is a pair of tiles that talk in that round.
    """
    collective = Collective("all-reduce", tuple(range(gpus)), 2**20 * gpus)
    maker = make_algorithm(algorithm, {}, op=collective.op)
    chunked = choose_chunks(collective, maker.granularity(gpus, lasers))
    found = []
    for round_ in maker.plan(chunked, lasers).rounds:
        lanes = []
        for port in np.unique(round_.port).tolist():
            rows = round_.port == port
            pairs = np.unique(np.stack([round_.src[rows], round_.dst[rows]]), axis=1)
            lanes.append((pairs[0], pairs[1]))
        found.append(lanes)
    return found


def joined(lanes: Sequence[Requests]) -> Requests:
    """Return the requests of several partial permutations as one list."""
    src = np.concatenate([lane[0] for lane in lanes])
    dst = np.concatenate([lane[1] for lane in lanes])
    return src, dst


def distinct(requests: Sequence[Requests]) -> list[Requests]:
    """Return the distinct request lists, each the first time it occurs."""
    kept: dict[bytes, Requests] = {}
    for src, dst in requests:
        order = np.lexsort((dst, src))
        kept.setdefault(src[order].tobytes() + dst[order].tobytes(), (src, dst))
    return list(kept.values())


def overlap(fabric: Lightpath, requests: Requests, router: str) -> int:
    """Return the routes on the fullest directed edge when requests are routed."""
    src, dst = requests
    if router == MIN_CONGESTION:
        return minimum_congestion(fabric, src, dst).congestion
    route = random_shortest(fabric, src, dst, candidates=CANDIDATES, seed=0)
    return largest_load(fabric, route)


def largest_load(fabric: Lightpath, route: Ragged) -> int:
    """Return the routes on the fullest directed edge."""
    return int(edge_loads(fabric, route).max(initial=0))


def pieces(fabric: Lightpath, requests: Requests, router: str, waveguides: int) -> int:
    """Return into how many rounds a round falls under the paper's rule.

    Every route takes a waveguide of each of its edges for itself. A round whose
    fullest edge has too few is split in two halves, which are routed anew, and so
    on (the paper's appendix C).
    """
    src, dst = requests
    if overlap(fabric, requests, router) <= waveguides or len(src) == 1:
        return 1
    half = len(src) // 2
    return pieces(fabric, (src[:half], dst[:half]), router, waveguides) + pieces(
        fabric, (src[half:], dst[half:]), router, waveguides
    )
