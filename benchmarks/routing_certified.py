"""How much certified routing proves, how fast, and how much faster than HiGHS.

Run ``python benchmarks/routing_certified.py``. Every bound is proved again from its
edge lengths, apart from the time. Nothing here is a test.
"""

from __future__ import annotations

import itertools
import os
import platform
import statistics
import time
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from rich.console import Console
from rich.table import Table
from routing import all_to_all, permutations, random_requests, recursive_steps

from lightloom.core.errors import InfeasibleError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.models.routing import build
from lightloom.problems.least_congestion.certified_routing import (
    CertifiedRouting,
    certified_routing,
)
from lightloom.solvers import SolveOptions, run
from lightloom.synth.routing.graph import Graph
from lightloom.validate.certificates.proofs.edge_lengths import check_edge_lengths

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

SIDES = ((4, 4), (4, 8), (8, 8), (8, 16), (16, 16))
COPIES = tuple(range(1, 9))
SEEDS = 14
HARD_SEEDS = 5
CLOSED = 0.05
WIDEST = 4
HIGHS_LIMIT_S = 600.0


def timed(
    fabric: Lightpath | Graph,
    src: IntArray,
    dst: IntArray,
    capacity: IntArray | None = None,
) -> tuple[CertifiedRouting, float]:
    """Return the routing and its seconds; its bound is proved again."""
    start = time.perf_counter()
    found = certified_routing(fabric, src, dst, capacity=capacity)
    seconds = time.perf_counter() - start
    graph = fabric
    if not isinstance(graph, Graph):
        graph = Graph.of_grid(graph, capacity)
    assert found.witness is not None
    proven = check_edge_lengths(graph.node_count, graph.edges, src, dst, found.witness)
    assert proven == found.bound
    return found, seconds


def table(title: str) -> Table:
    """Return an empty table."""
    made = Table("instances", title=title)
    for name in ("proved", "largest gap", "median s", "slowest s"):
        made.add_column(name, justify="right")
    return made


def add(made: Table, name: str, found: list[tuple[CertifiedRouting, float]]) -> None:
    """Add a row about some instances."""
    seconds = [spent for _, spent in found]
    gaps = [routing.congestion - routing.bound for routing, _ in found]
    made.add_row(
        name,
        f"{sum(not gap for gap in gaps)} of {len(gaps)}",
        str(max(gaps)),
        f"{statistics.median(seconds):.3f}",
        f"{max(seconds):.3f}",
    )


def full_grids() -> Table:
    """Return the table of grids with all their edges."""
    made = table("Full grids")
    for rows, cols in SIDES:
        fabric = Lightpath(rows=rows, cols=cols)
        found = [
            timed(fabric, *permutations(fabric, copies, seed))
            for copies in COPIES
            for seed in range(SEEDS)
        ]
        add(made, f"random permutations x1 to x8, {rows}x{cols}", found)
    for name, cases in (
        ("all-to-all 4x4 to 16x16", all_to_all),
        ("doubling and quadrupling, 16x16", recursive_steps),
        ("768 random requests, 16x16", random_requests),
    ):
        add(made, name, [timed(*case[1:]) for case in cases()])
    fabric, found = Lightpath(rows=32, cols=32), []
    for seed in range(HARD_SEEDS):
        rng = np.random.default_rng(seed)
        src = rng.integers(0, 1024, 4096)
        found.append(timed(fabric, src, (src + rng.integers(1, 1024, 4096)) % 1024))
    add(made, "4096 random requests, 32x32", found)
    return made


def broken_grids() -> Table:
    """Return the table of grids with closed edges, and with unequal capacities."""
    made = table(f"Grids with {CLOSED:.0%} of their edges closed")
    for rows, cols in ((4, 4), (8, 8), (16, 16)):
        fabric = Lightpath(rows=rows, cols=cols)
        for widest in (1, WIDEST):
            for copies in (1, 2, 4, 8):
                found = []
                for seed in range(HARD_SEEDS):
                    rng = np.random.default_rng([seed, copies, widest, rows])
                    capacity = rng.integers(1, widest + 1, len(fabric.edges()[0]))
                    capacity[rng.random(len(capacity)) < CLOSED] = 0
                    src, dst = permutations(fabric, copies, seed)
                    try:
                        found.append(timed(fabric, src, dst, capacity))
                    except InfeasibleError:
                        continue  # the closed edges cut a tile off
                name = (
                    f"{rows}x{cols}, capacities 1 to {widest}, permutations x{copies}"
                )
                add(made, name, found)
    return made


def other_graphs() -> Table:
    """Return the table of random regular graphs, edges both ways."""
    made = table("Random regular graphs")
    for degree, nodes in itertools.product((3, 4), (16, 32, 48, 64)):
        network = nx.random_regular_graph(degree, nodes, seed=nodes + degree)
        edges = sorted(network.to_directed().edges)
        tail, head = np.array(edges, dtype=np.int64).T
        found = []
        for copies, widest, seed in itertools.product((1, 3), (1, WIDEST), (11, 12)):
            rng = np.random.default_rng([seed, copies, widest])
            graph = Graph(nodes, tail, head, rng.integers(1, widest + 1, len(tail)))
            orders = [rng.permutation(nodes) for _ in range(copies)]
            src = np.tile(np.arange(nodes), copies)
            dst = np.concatenate(orders)
            src, dst = src[src != dst], dst[src != dst]
            found.append(timed(graph, src, dst))
        add(made, f"degree {degree}, {nodes} nodes, permutations x1 and x3", found)
    return made


def against_highs() -> Table:
    """Return the table that compares with HiGHS on Algorithm 2."""
    fabric = Lightpath(rows=8, cols=8)
    rng = np.random.default_rng(0)
    src = rng.integers(0, 64, 128)
    dst = (src + rng.integers(1, 64, 128)) % 64
    found, seconds = min(
        (timed(fabric, src, dst) for _ in range(5)), key=lambda pair: pair[1]
    )
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    start = time.perf_counter()
    model = build(Instance(fabric, Demand((), (), ()), "benchmark"), requests=pairs)
    outcome = run(model, "highs", SolveOptions(time_limit_s=HIGHS_LIMIT_S))
    spent = time.perf_counter() - start
    made = Table(title="8x8, 128 random requests")
    for name in ("", "answer", "congestion", "bound", "seconds", "times"):
        made.add_column(name, justify="right")
    ours = ("lightloom", "proved" if found.proved else "not proved")
    made.add_row(*ours, str(found.congestion), str(found.bound), f"{seconds:.4f}", "1")
    theirs = ("HiGHS on Algorithm 2", str(outcome.reason.value))
    values = (str(outcome.objective), str(outcome.bound), f"{spent:.1f}")
    made.add_row(*theirs, *values, f"{spent / seconds:.0f}")
    return made


def main() -> None:
    """Print the machine and the tables."""
    console = Console(width=100)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()},"
        f" Python {platform.python_version()}, numpy {np.__version__},"
        f" load {os.getloadavg()[0]:.1f} at the start"
    )
    for made in (full_grids, broken_grids, other_graphs, against_highs):
        console.print(made())


if __name__ == "__main__":
    main()
