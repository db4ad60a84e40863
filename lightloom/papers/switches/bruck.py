"""Bruck's collectives on shift rings: hops and times, by how often strides change."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

from lightloom.core.units import MIB, PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.papers.claims import between, fact, holds, near
from lightloom.papers.collectives import verified_schedule
from lightloom.papers.reproduction import Plot, figures
from lightloom.plans.algorithms.bruck import hop_rounds
from lightloom.replay import completion_time_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell

KNOWN_US = {(1, 0): 403.5, (1, 5): 82.7, (1, 2): 80.4} | {
    (8, 0): 2715.6,
    (8, 5): 1017.9,
    (8, 2): 696.7,
}
"""An all-to-all, by MiB and reconfigurations."""
KNOWN_CUTS = {
    ("all-to-all", 1): "3",
    ("all-to-all", 2): "2 4",
    ("all-gather", 1): "4",
    ("all-gather", 2): "3 5",
    ("reduce-scatter", 1): "2",
    ("reduce-scatter", 2): "1 3",
}
"""Of 64 ranks, in the order of time: before which of six steps strides change."""
OPERATIONS = ("all-to-all", "all-gather", "reduce-scatter")
_STEP_US, _HOP_US = 1.7, 1.0
_BYTES_PER_US = 10**5
_DELAYS_US = {1: 7, 8: 150}


def best_cuts(
    steps: int, cuts: int, weight: Callable[[int], int] = lambda _step: 1
) -> tuple[int, ...]:
    """Return the steps before which strides change, with least weight times hops."""
    places = combinations(range(1, steps), cuts)
    return min(
        places,
        key=lambda some: (
            sum(weight(step) * hops for step, hops in _step_hops(some, steps)),
            some,
        ),
    )


def _step_hops(cuts: tuple[int, ...], steps: int) -> Iterator[tuple[int, int]]:
    """Yield the hops that each step takes."""
    for low, high in pairwise([0, *cuts, steps]):
        for step in range(low, high):
            yield step, 2 ** (step - low)


def _replayed_us(
    op: str, ranks: int, size_bytes: int, delay_us: int, cuts: tuple[int, ...]
) -> float:
    """Return the time of a verified schedule, its first ring there from the start."""
    fabric = Ocs(
        nodes=ranks,
        switches=1,
        bits_per_second_per_node=8 * 10**6 * _BYTES_PER_US,
        alpha_ps=round(_HOP_US * PS_PER_US),
        reconfiguration_ps=delay_us * PS_PER_US,
        initial_configuration_charged=False,
    )
    given = {"cuts": list(cuts)}
    schedule = verified_schedule(fabric, op, size_bytes, "shift-rings", given)
    return completion_time_ps(schedule) / PS_PER_US


def _compute(
    tell: Tell, *, ranks: int = 64, mebibytes: tuple[int, ...] = (1, 8)
) -> Iterator[Row]:
    """Work out the printed cost, and replay a schedule, for every number of cuts."""
    steps = (ranks - 1).bit_length()
    for op, size in product(OPERATIONS, mebibytes):
        delay_us = _DELAYS_US.get(size, 7)
        gathers = op != "all-to-all"
        for count in range(steps):
            # What an all-gather moves doubles with every step.
            cuts = best_cuts(steps, count, (lambda k: 2**k) if gathers else lambda _: 1)
            shares = ranks if gathers else 2
            data_us = sum(
                hops * (2**step if gathers else 1)
                for step, hops in _step_hops(cuts, steps)
            ) * (size * MIB / shares / _BYTES_PER_US)
            hops = hop_rounds(cuts, steps)
            tell(f"{op}, {size} MiB, {count} reconfigurations")
            printed = steps * _STEP_US + hops * _HOP_US + data_us + count * delay_us
            replayed = _replayed_us(op, ranks, size * MIB, delay_us, cuts)
            order = cuts
            if op == "reduce-scatter":
                order = tuple(steps - cut for cut in reversed(cuts))
            known = op == "all-to-all" and ranks == _RANKS
            yield (
                *(op, ranks, size, delay_us, count, " ".join(map(str, order)), hops),
                *(printed, replayed),
                KNOWN_US.get((size, count)) if known else None,
            )


_RANKS = 64


def _claims(data: Data) -> Iterator[Comparison]:
    ranks = int(data.given["ranks"])
    for op, _, size, _, count, cuts, _, ours, replayed, known in data.rows:
        if not isinstance(ours, float) or not isinstance(replayed, float):
            continue
        steps_us = _STEP_US * (ranks - 1).bit_length()
        name = f"{op}, {size} MiB, {count} reconfigurations"
        places = KNOWN_CUTS.get((str(op), int(str(count)))) if ranks == _RANKS else None
        if places is not None:
            same = fact("best cuts", so=cuts == places)
            yield holds(f"{name}: best cuts", places, str(cuts), points=same, why="")
        if op == "all-to-all":
            yield near(
                f"{name}: replay and the cost of the steps",
                ours,
                replayed + steps_us,
                "us",
                band=1e-6,
            )
        else:
            yield holds(
                f"{name}: replay and the cost of the steps",
                f"{ours:.6g} us",
                f"{replayed + steps_us:.6g} us",
                points=between({name: replayed + steps_us}, most=ours * (1 + 1e-6)),
                why="the rings pass no block to a rank that has it",
            )
        if isinstance(known, float):
            yield near(name, known, ours, "us", band=1e-3)


_PLOT = Plot(
    x="reconfigurations",
    y="time_us",
    series="mebibytes",
    panel="operation",
    title="{}, 64 ranks",
    names=lambda mebibytes: f"{mebibytes} MiB",
    x_label="reconfigurations",
    y_label="completion time (us)",
    y_log=10,
)

FIGURE = figures(
    __package__,
    ("bruck-table1", _compute, _claims, _PLOT),
)
