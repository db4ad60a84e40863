"""Bruck all-to-all on shift rings: hops, and times, by how often strides change."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from lightloom.core.units import MIB, PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.papers.claims import near
from lightloom.papers.plot import Plot
from lightloom.papers.reproduction import Figure
from lightloom.papers.verified_schedules import verified_schedule
from lightloom.plans.algorithms.shift_rings import hop_rounds
from lightloom.replay import completion_time_ps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

KNOWN_US = {(1, 0): 403.5, (1, 5): 82.7, (1, 2): 80.4} | {
    (8, 0): 2715.6,
    (8, 5): 1017.9,
    (8, 2): 696.7,
}
"""By MiB and reconfigurations."""
_STEP_US, _HOP_US = 1.7, 1.0
_BYTES_PER_US = 10**5
_DELAYS_US = {1: 7, 8: 150}


def best_cuts(steps: int, cuts: int) -> tuple[int, ...]:
    """Return the steps before which strides change, with fewest hops.

    Parameters
    ----------
    steps
        Of the index algorithm in radix 2.
    cuts
        How often the stride changes.
    """
    places = combinations(range(1, steps), cuts)
    return min(places, key=lambda some: (hop_rounds(some, steps), some))


def _replayed_us(
    ranks: int, size_bytes: int, delay_us: int, cuts: tuple[int, ...]
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
    made = verified_schedule(fabric, "all-to-all", size_bytes, "shift-rings", given)
    return completion_time_ps(made) / PS_PER_US


def _compute(
    tell: Tell, *, ranks: int = 64, mebibytes: tuple[int, ...] = (1, 8)
) -> Iterator[Row]:
    """Work out the printed cost, and replay a schedule, for every number of cuts."""
    steps = (ranks - 1).bit_length()
    for size in mebibytes:
        delay_us = _DELAYS_US.get(size, 7)
        data_us = size * MIB / 2 / _BYTES_PER_US
        for count in range(steps):
            cuts = best_cuts(steps, count)
            hops = hop_rounds(cuts, steps)
            tell(f"{size} MiB, {count} reconfigurations")
            printed = steps * _STEP_US + hops * (_HOP_US + data_us) + count * delay_us
            replayed = _replayed_us(ranks, size * MIB, delay_us, cuts)
            yield (
                *(ranks, size, delay_us, count, " ".join(map(str, cuts)), hops),
                *(printed, replayed),
                KNOWN_US.get((size, count)) if ranks == _RANKS else None,
            )


_RANKS = 64


def _claims(data: Data) -> Iterator[Comparison]:
    for _, size, _, count, _, _, ours, replayed, known in data.rows:
        if not isinstance(ours, float) or not isinstance(replayed, float):
            continue
        steps_us = _STEP_US * (int(data.given["ranks"]) - 1).bit_length()
        name = f"{size} MiB, {count} reconfigurations"
        yield near(
            f"{name}: replay and the cost of the steps",
            ours,
            replayed + steps_us,
            "us",
            band=1e-6,
        )
        if isinstance(known, float):
            yield near(name, known, ours, "us", band=1e-3)


_PLOT = Plot(
    x="reconfigurations",
    y="time_us",
    series="mebibytes",
    title="64 ranks",
    names=lambda mebibytes: f"{mebibytes} MiB",
    x_label="reconfigurations",
    y_label="completion time (us)",
    y_log=10,
)

FIGURE = Figure(
    name="bruck-table1",
    takes_s=2,
    title="Bruck all-to-all on rings of few strides",
    columns=(
        *("ranks", "mebibytes", "delay_us", "reconfigurations", "cuts", "hops"),
        *("time_us", "replayed_us", "known_us"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_PLOT,
    notes=(
        (
            "time_us charges 1.7 us a step and 1 us a hop; a replayed schedule pays"
            " alpha for each hop, here 1 us, and nothing for a step."
        ),
    ),
)
