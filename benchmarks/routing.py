"""Congestion, bound and seconds of minimum-congestion routing on known cases.

Run ``python benchmarks/routing.py``: best of five runs of each instance, and of the
random permutations how many meet their bound. Nothing here is a test.
"""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.synth.routing.minimum_congestion import Routing, minimum_congestion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray

RUNS = 5
SEEDS = 14
SIDES = ((4, 4), (4, 8), (8, 8), (8, 16), (16, 16))
Case = tuple[str, Lightpath, "IntArray", "IntArray"]


def all_to_all() -> Iterator[Case]:
    """Yield all pairs of each grid."""
    for rows, cols in ((4, 4), (4, 8), (8, 8), (16, 16)):
        fabric = Lightpath(rows=rows, cols=cols)
        src, dst = np.divmod(np.arange(fabric.node_count**2), fabric.node_count)
        other = src != dst
        yield f"all-to-all {rows}x{cols}", fabric, src[other], dst[other]


def recursive_steps() -> Iterator[Case]:
    """Yield the steps of doubling and quadrupling over 256 ranks in two orders."""
    fabric = Lightpath(rows=16, cols=16)
    ranks = np.arange(256)
    row, col = np.zeros(256, dtype=np.int64), np.zeros(256, dtype=np.int64)
    for bit in range(4):
        col |= (ranks >> 2 * bit & 1) << bit
        row |= (ranks >> (2 * bit + 1) & 1) << bit
    for order, tile in (("row-major", ranks), ("Morton", row * 16 + col)):
        for name, radix, steps in (("doubling", 2, 8), ("quadrupling", 4, 4)):
            rank = np.repeat(ranks, radix - 1)
            digit = np.tile(np.arange(1, radix), 256)
            for step in range(steps):
                partner = rank ^ digit * radix**step
                case = f"{name} step {step}, {order}, 16x16"
                yield case, fabric, tile[rank], tile[partner]


def random_requests() -> Iterator[Case]:
    """Yield random requests on a full rack."""
    fabric = Lightpath(rows=16, cols=16)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        src = rng.integers(0, 256, 768)
        dst = (src + rng.integers(1, 256, 768)) % 256
        yield f"768 random requests 16x16, seed {seed}", fabric, src, dst


def permutations(
    fabric: Lightpath, copies: int, seed: int
) -> tuple[IntArray, IntArray]:
    """Return the union of some random permutations, without fixed points."""
    nodes = fabric.node_count
    rng = np.random.default_rng([seed, copies, nodes])
    src = np.tile(np.arange(nodes), copies)
    dst = np.concatenate([rng.permutation(nodes) for _ in range(copies)])
    return src[src != dst], dst[src != dst]


def timed(
    fabric: Lightpath, src: IntArray, dst: IntArray, runs: int
) -> tuple[Routing, float]:
    """Return the routing and the seconds of the fastest run."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        routing = minimum_congestion(fabric, src, dst)
        best = min(best, time.perf_counter() - start)
    return routing, best


def known_cases() -> Table:
    """Return the table of cases with one instance each."""
    table = Table(title=f"Minimum-congestion routing, best of {RUNS} runs")
    table.add_column("instance")
    for name in ("requests", "congestion", "bound", "proved", "seconds"):
        table.add_column(name, justify="right")
    for cases in (all_to_all, recursive_steps, random_requests):
        for name, fabric, src, dst in cases():
            routing, seconds = timed(fabric, src, dst, RUNS)
            table.add_row(
                name,
                str(len(src)),
                str(routing.congestion),
                str(routing.bound),
                "yes" if routing.proved else "no",
                f"{seconds:.4f}",
            )
    return table


def random_permutations() -> Table:
    """Return the table of random permutations, one row for each kind."""
    table = Table(title=f"Random permutations, {SEEDS} each, best of {RUNS} runs")
    table.add_column("instance")
    for name in ("requests", "proved", "largest gap", "mean s", "slowest s"):
        table.add_column(name, justify="right")
    for rows, cols in SIDES:
        fabric = Lightpath(rows=rows, cols=cols)
        for copies in (1, 2, 3):
            found = [
                timed(fabric, *permutations(fabric, copies, seed), RUNS)
                for seed in range(SEEDS)
            ]
            seconds = [spent for _, spent in found]
            gaps = [routing.congestion - routing.bound for routing, _ in found]
            table.add_row(
                f"{copies} permutation(s) of {rows}x{cols}",
                str(copies * fabric.node_count),
                f"{sum(routing.proved for routing, _ in found)} of {SEEDS}",
                str(max(gaps)),
                f"{sum(seconds) / SEEDS:.4f}",
                f"{max(seconds):.4f}",
            )
    return table


def main() -> None:
    """Print the machine and both tables."""
    console = Console(width=100)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()},"
        f" Python {platform.python_version()}, numpy {np.__version__}"
    )
    console.print(known_cases())
    console.print(random_permutations())


if __name__ == "__main__":
    main()
