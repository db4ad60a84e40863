"""How long certified circuits of optical switches take, up to 65,536 nodes.

Run ``python benchmarks/ocs.py [--large]``. Each row is a process of its own; seconds
are those of the fastest of a few runs: counts, spare circuits and permutations.
Every witness is checked. Each node sends to as many others as the row says, over cyclic
distances drawn at random with the nodes shuffled (``cyclic``), or over random
permutations of which three pairs in ten are left out (``random``). Sizes are drawn
uniformly from 1 to the row's most bytes.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.ocs.switch_circuits import switch_circuits
from lightloom.validate.certificates.proofs.ocs_ports import check_saturated_port

RUNS = 3
SWITCHES = 16
# Pattern, nodes, destinations of a node, most bytes of a pair.
ROWS = (
    ("cyclic", 1024, 8, 2**30),
    ("cyclic", 4096, 8, 2**30),
    ("cyclic", 4096, 8, 1),
    ("cyclic", 4096, 6, 10),
    ("random", 4096, 8, 1),
    ("random", 4096, 14, 3),
    ("random", 4096, 16, 2**40),
    ("cyclic", 16384, 8, 2**30),
)
LARGE_ROWS = (
    ("cyclic", 65536, 8, 2**30),
    ("random", 65536, 8, 1),
    ("random", 65536, 12, 3),
    ("random", 65536, 16, 2**40),
)


def traffic(pattern: str, nodes: int, each: int, most: int) -> Demand:
    """Return the demand of a row."""
    rng = np.random.default_rng(nodes + each)
    src = np.tile(np.arange(nodes), each)
    if pattern == "cyclic":
        steps = rng.choice(np.arange(1, nodes), each, replace=False)
        shuffled = rng.permutation(nodes)
        dst = shuffled[(src + np.repeat(steps, nodes)) % nodes]
        src = shuffled[src]
    else:
        dst = np.concatenate([rng.permutation(nodes) for _ in range(each)])
        kept = (rng.random(len(src)) < 0.7) & (src != dst)
        src, dst = src[kept], dst[kept]
    pairs = np.unique(src * nodes + dst)
    size = rng.integers(1, most, len(pairs), endpoint=True)
    columns = (pairs // nodes, pairs % nodes, size)
    return Demand(*(tuple(column.tolist()) for column in columns))


def child(row: list[str | int]) -> dict[str, object]:
    """Measure one row in this process."""
    pattern, nodes, each, most = row
    assert isinstance(pattern, str)
    demand = traffic(pattern, *(int(value) for value in (nodes, each, most)))
    fabric = Ocs(nodes=int(nodes), switches=SWITCHES, bits_per_second_per_node=10**12)
    seconds = float("inf")
    for _ in range(1 if int(nodes) > 20000 else RUNS):
        start = time.perf_counter()
        plan = switch_circuits(fabric, demand)
        seconds = min(seconds, time.perf_counter() - start)
    start = time.perf_counter()
    assert plan.witness is not None
    check_saturated_port(fabric, demand, plan.witness)
    return {
        "pairs": len(demand.src),
        "circuits": int(plan.counts.sum()),
        "ratio": str(plan.ratio),
        "conflicts": plan.conflicts,
        "seconds": seconds,
        "check_s": time.perf_counter() - start,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Measure every row and print the table."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    table = Table(
        title=f"Certified circuits of {SWITCHES} optical switches",
        caption=f"fastest of {RUNS} runs, one above 20,000 nodes; {machine},"
        f" Python {platform.python_version()}, numpy {np.__version__}",
    )
    for heading in ("traffic", "most bytes"):
        table.add_column(heading)
    for heading in ("pairs", "circuits", "ties cut", "seconds", "check s", "MiB"):
        table.add_column(heading, justify="right")
    table.add_column("outcome")
    for row in (*ROWS, *(LARGE_ROWS if "--large" in sys.argv[1:] else ())):
        command = [sys.executable, __file__, "--row", json.dumps(row)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures = json.loads(done.stdout)
        table.add_row(
            f"{row[0]}, {row[1]:,} x {row[2]}",
            f"{row[3]:,}",
            f"{figures['pairs']:,}",
            f"{figures['circuits']:,}",
            str(figures["conflicts"]),
            f"{figures['seconds']:.2f}",
            f"{figures['check_s']:.3f}",
            f"{figures['peak_mib']:.0f}",
            "optimal (saturated port, checked)",
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    if "--row" in sys.argv[1:]:
        print(json.dumps(child(json.loads(sys.argv[2]))))
    else:
        main()
