"""How good and how fast placements are: against the exact model, and at scale.

Run ``python benchmarks/placement.py [--no-exact]``. The first table compares our own
algorithm, and SiP-ML's Algorithm 1 with its repair, with the optimum that CP-SAT proves
for the declarative model within a minute; several seeds, the worst counts. The second
cuts and places graphs of about 20,000 operations. Every placement is checked against
every rule, and its bound recomputed from the witness. Seconds are of the processor.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from lightloom.core.outcome import Reason
from lightloom.core.task import Workload
from lightloom.instances.computation_table import computation_graph
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.instances.workloads import default_training, model_named
from lightloom.models.placement import build
from lightloom.solvers import SolveOptions, run
from lightloom.training.placement.graph_split import split_graph
from lightloom.training.placement.operation_graph import op_graph
from lightloom.training.placement.placement_search import place_operations
from lightloom.training.placement.sipml_algorithm_1 import algorithm_one
from lightloom.validate.certificates.proofs.makespan import check_placement_witness
from lightloom.validate.placement import check_placement

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = 3
TIME_LIMIT_S = 60
US = 1_000_000


def made(
    edges: list[tuple[int, int]], times_us: list[int], devices: int, distance: int
) -> Workload:
    """Return a workload of the given edges and times."""
    ops = len(times_us)
    return Workload(
        tuple(f"op{row}" for row in range(ops)),
        tuple(time_us * US for time_us in times_us),
        (1,) * ops,
        tuple(src for src, _ in edges),
        tuple(dst for _, dst in edges),
        (1024,) * len(edges),
        devices,
        distance,
    )


def layers(
    depth: int, width: int, devices: int, distance: int, percent: int
) -> Workload:
    """Return layers in which each operation hears from some of the layer before."""
    rng = np.random.default_rng([depth, width, devices, distance, percent])
    edges = [
        (src, dst)
        for dst in range(width, depth * width)
        for src in range((dst // width - 1) * width, dst // width * width)
        if rng.integers(100) < percent
    ]
    times = rng.integers(1, 10, depth * width).tolist()
    return made(edges, times, devices, distance)


def hubs(blocks: int, fan: int, devices: int, distance: int) -> Workload:
    """Return operations that fan out and are gathered again, block after block."""
    rng = np.random.default_rng([blocks, fan, devices, distance])
    edges, hub = [], 0
    for _ in range(blocks):
        following = hub + fan + 1
        for op in range(hub + 1, following):
            edges += [(hub, op), (op, following)]
        hub = following
    times = rng.integers(8, 13, hub + 1).tolist()
    return made(edges, times, devices, distance)


def scattered(ops: int, most: int, devices: int, distance: int, back: int) -> Workload:
    """Return operations that hear from up to `most` of the `back` before them."""
    rng = np.random.default_rng([ops, most, devices, distance])
    edges = sorted(
        {
            (int(rng.integers(max(0, dst - back), dst)), dst)
            for dst in range(1, ops)
            for _ in range(int(rng.integers(0, most + 1)))
        }
    )
    return made(edges, rng.integers(1, 10, ops).tolist(), devices, distance)


def slabs(rows: int, width: int, reach: int, devices: int, distance: int) -> Workload:
    """Return rows of operations that hear from their neighbours in the row before."""
    rng = np.random.default_rng([rows, width, reach])
    edges = [
        ((row - 1) * width + place + off, row * width + place)
        for row in range(1, rows)
        for place in range(width)
        for off in range(-reach, reach + 1)
        if 0 <= place + off < width
    ]
    times = rng.integers(8, 13, rows * width).tolist()
    return made(edges, times, devices, distance)


def small() -> Iterator[tuple[str, Workload]]:
    """Yield graphs that the exact model solves in a minute, or nearly."""
    for depth, width, devices, distance, percent in (
        (4, 4, 6, 2, 50),
        (4, 6, 8, 3, 40),
        (6, 4, 6, 1, 40),
        (5, 5, 8, 3, 100),
        (6, 6, 8, 3, 30),
        (8, 5, 8, 2, 40),
    ):
        name = f"{depth} layers of {width}, {percent} % of edges"
        yield name, layers(depth, width, devices, distance, percent)
    yield "3 hubs of 5", hubs(3, 5, 6, 2)
    yield "4 hubs of 6", hubs(4, 6, 8, 3)
    for ops, devices, distance in ((24, 5, 1), (24, 5, 2), (36, 6, 2), (48, 8, 3)):
        yield f"{ops} scattered", scattered(ops, 3, devices, distance, 12)
    yield "5 rows of 5 with neighbours", slabs(5, 5, 1, 5, 1)
    yield "6 rows of 6 with neighbours", slabs(6, 6, 1, 6, 2)


def large() -> Iterator[tuple[str, Workload, float]]:
    """Yield large graphs, and the seconds that it took to cut them into parts."""
    for reach in (0, 1, 4):
        name = f"20 rows of 1024, {2 * reach + 1} neighbours"
        yield name, slabs(20, 1024, reach, 1024, 15), 0.0
    yield "20,000 scattered", scattered(20_000, 4, 1024, 15, 200), 0.0
    for model, devices in (("transformer-350m", 1024), ("bert-large", 1024)):
        graph = computation_graph(default_training(model_named(model)))
        for backward in ("apart", "in-place"):
            start = time.process_time()
            parts = split_graph(
                graph,
                devices=devices,
                distance=15,
                backward="apart" if backward == "apart" else "in-place",
            )
            seconds = time.process_time() - start
            yield f"{model}, backward {backward}", parts.workload, seconds


def placed(workload: Workload, seed: int) -> tuple[int, int, float]:
    """Return makespan, bound and seconds of a checked placement."""
    start = time.process_time()
    plan = place_operations(workload, seed=seed)
    seconds = time.process_time() - start
    for violation in check_placement(plan.placement):
        raise SystemExit(str(violation))
    if check_placement_witness(workload, plan.witness) != plan.bound_ps:
        raise SystemExit("the witness proves another bound")
    return plan.placement.makespan_ps, plan.bound_ps, seconds


def exact_row(name: str, workload: Workload) -> list[str]:
    """Return the row of a small graph."""
    instance = Instance(IdealSwitch(nodes=workload.devices), workload, "small")
    options = SolveOptions(time_limit_s=TIME_LIMIT_S)
    outcome = run(build(instance, pinned=True), "cp-sat", options)
    unit = int(np.gcd.reduce(workload.duration_ps))
    best = round((outcome.objective or 0) * unit)
    found = [placed(workload, seed) for seed in range(SEEDS)]
    worst = max(makespan for makespan, _, _ in found)
    first = algorithm_one(op_graph(workload)).placement.makespan_ps
    proven = outcome.reason is Reason.PROVEN_OPTIMAL
    wall = outcome.provenance.wall_s if outcome.provenance else None
    return [
        name,
        str(len(workload.op)),
        f"{workload.devices}, {workload.distance}",
        f"{best / US:g}" + ("" if proven else " (not proven)"),
        f"{worst / US:g}",
        f"{100 * (worst / best - 1):.1f}" if best else "",
        f"{100 * (first / best - 1):.1f}" if best else "",
        f"{found[0][1] / US:.1f}",
        f"{max(seconds for *_, seconds in found):.2f}",
        "" if wall is None else f"{wall:.1f}",
    ]


def large_row(name: str, workload: Workload, cutting_s: float) -> list[str]:
    """Return the row of a large graph."""
    makespan, bound, seconds = placed(workload, 0)
    return [
        name,
        f"{len(workload.op):,}",
        f"{len(workload.src):,}",
        f"{makespan / US:,.0f}",
        f"{bound / US:,.0f}",
        f"{cutting_s:.2f}",
        f"{seconds:.2f}",
    ]


def main() -> None:
    """Print both tables."""
    console = Console(width=150)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    if "--no-exact" not in sys.argv:
        table = Table(title=f"us; within a minute by CP-SAT; {machine}")
        for title in ("graph", "ops", "k, distance", "exact", "ours, worst seed"):
            table.add_column(title)
        for title in ("over, %", "Alg. 1 over, %", "bound", "ours, s", "CP-SAT, s"):
            table.add_column(title)
        for name, workload in small():
            table.add_row(*exact_row(name, workload))
        console.print(table)
    table = Table(title=f"1024 devices, distance 15, us; {machine}")
    for title in ("graph", "ops", "edges", "makespan", "bound", "cutting, s"):
        table.add_column(title)
    table.add_column("placing, s")
    for name, workload, seconds in large():
        table.add_row(*large_row(name, workload, seconds))
    console.print(table)


if __name__ == "__main__":
    main()
