"""How good and how fast wavelengths of a ring are: with a bound, and as a controller.

Run ``python benchmarks/ring.py``. Every row stands for several demands; times are best
of a few runs of each, and the slowest demand counts. Every witness is checked and every
schedule verified. In ``random`` traffic a node sends to so many others within reach, of
sizes from 1 byte to 1 MiB; in ``cyclic`` traffic over the same distances, a size each.
"""

from __future__ import annotations

import itertools
import os
import platform
import time
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from lightloom.core.errors import NoAnswerError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.synth.ring.flow_heuristic import control_ring
from lightloom.synth.ring.wavelengths import RingPlan, ring_schedule, ring_wavelengths
from lightloom.validate import verify
from lightloom.validate.certificates.proofs.ring_lines import check_ring_witness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUNS = 3
SEEDS = 10
WIDE = Ring(nodes=64, wavelengths=64, reach=16)
BOTH = Ring(nodes=64, wavelengths=64, reach=16, directions=2)
SHARED = Ring(
    nodes=64, wavelengths=64, reach=16, directions=2, shared_transceivers=True
)
SMALL = Ring(nodes=16, wavelengths=16, reach=15, directions=2)
Case = tuple[str, Ring, list[Demand]]


def random_traffic(fabric: Ring, each: int, seed: int) -> Demand:
    """Return the demand in which each node sends to some others within reach."""
    rng = np.random.default_rng([seed, each, fabric.nodes])
    steps = [*range(1, min(fabric.reach, fabric.nodes - 1) + 1)]
    if fabric.directions == 2:
        steps += [-step for step in steps]
    near = sorted({step % fabric.nodes for step in steps})
    return Demand.from_rows(
        [
            (node, (node + int(step)) % fabric.nodes, int(rng.integers(1, 2**20)))
            for node in range(fabric.nodes)
            for step in rng.choice(near, each, replace=False)
        ]
    )


def cyclic_traffic(fabric: Ring) -> Iterator[Demand]:
    """Yield demands in which every node sends as much over the same distances."""
    for steps in itertools.combinations((3, 5, 7, 9, 11, 13, 16), 3):
        yield Demand.from_rows(
            [
                (node, (node + step) % fabric.nodes, 1000 * (place + 1))
                for node in range(fabric.nodes)
                for place, step in enumerate(steps)
            ]
        )


def cases() -> Iterator[Case]:
    """Yield every row."""
    for name, fabric, several in (
        ("64 nodes, W=64, reach 16, one fibre", WIDE, (1, 2, 4)),
        ("64 nodes, W=64, reach 16, two fibres", BOTH, (1, 2, 4, 8)),
        ("64 nodes, W=64, reach 16, shared transceivers", SHARED, (2, 4, 8)),
        ("16 nodes, W=16, either way round", SMALL, (2, 4)),
    ):
        for each in several:
            demands = [random_traffic(fabric, each, seed) for seed in range(SEEDS)]
            yield f"{name}, random x{each}", fabric, demands
    yield "64 nodes, W=64, reach 16, cyclic", WIDE, list(cyclic_traffic(WIDE))


def timed(
    make: Callable[..., RingPlan], fabric: Ring, demand: Demand
) -> tuple[RingPlan | None, float]:
    """Return the plan, if there is one, and the seconds of the fastest run."""
    seconds = float("inf")
    plan = None
    for _ in range(RUNS):
        start = time.perf_counter()
        try:
            plan = make(fabric, demand)
        except NoAnswerError:
            plan = None
        seconds = min(seconds, time.perf_counter() - start)
    if plan is not None:
        if plan.witness is not None:
            check_ring_witness(fabric, demand, plan.witness)
        assert verify(ring_schedule(fabric, plan)).valid
    return plan, seconds


def main() -> None:
    """Print the machine and the table."""
    console = Console(width=150)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()},"
        f" Python {platform.python_version()}, numpy {np.__version__}"
    )
    ring_wavelengths(SMALL, random_traffic(SMALL, 2, 0))  # scipy is loaded now
    table = Table(title=f"Wavelengths of a ring, best of {RUNS} runs")
    table.add_column("demands")
    for name in (
        "optimal",
        "largest gap %",
        "slowest s",
        "controller ms",
        "its mean share of the bound",
        "its least",
    ):
        table.add_column(name, justify="right")
    for name, fabric, demands in cases():
        found = [timed(ring_wavelengths, fabric, demand) for demand in demands]
        fast = [timed(control_ring, fabric, demand) for demand in demands]
        answers = [plan for plan, _ in found if plan is not None]
        gaps = [plan.gap for plan in answers if plan.gap is not None]
        shares = [
            float(quick.ratio / plan.bound)
            for (plan, _), (quick, _) in zip(found, fast, strict=True)
            if plan and quick and quick.ratio and plan.bound
        ]
        table.add_row(
            name,
            f"{sum(plan.proved for plan in answers)} of {len(demands)}",
            f"{100 * max(gaps):.2f}",
            f"{max(seconds for _, seconds in found):.3f}",
            f"{1000 * max(seconds for _, seconds in fast):.1f}",
            f"{sum(shares) / len(shares):.3f}",
            f"{min(shares):.3f}",
        )
    console.print(table)


if __name__ == "__main__":
    main()
