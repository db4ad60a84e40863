"""Fluid schedules: every plane holds one segment, and one step serves a demand."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lightloom.core.columns import column
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance
    from lightloom.models.bottleneck import Pair


def sizes_by_pair(demand: Demand) -> dict[Pair, int]:
    """Return the bytes of each pair, in the order of the demand."""
    pairs = zip(demand.src, demand.dst, strict=True)
    return dict(zip(pairs, demand.bytes, strict=True))


def circuits_by_pair(circuits: Circuits) -> Counter[Pair]:
    """Return the circuits of each pair; a wavelength counts as one."""
    pairs = zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True)
    widths = circuits.wavelengths
    found: Counter[Pair] = Counter()
    for row, pair in enumerate(pairs):
        found[pair] += 1 if widths is None else len(widths[row])
    return found


def fluid_schedule(
    instance: Instance, demand: Demand, planes: Sequence[Circuits]
) -> Schedule:
    """Return the schedule that serves a demand on circuits that stay.

    The bytes of a pair are dealt out to the planes by its number of circuits, and to
    the byte: shares that should be equal differ by one byte at most.

    Parameters
    ----------
    instance
        Whose fabric it is for.
    demand
        Every pair has a circuit.
    planes
        Circuits of each plane, all of one rate a wavelength; a plane without any has
        no segment.
    """
    held = [circuits_by_pair(circuits) for circuits in planes]
    rows: list[list[tuple[Pair, int]]] = [[] for _ in planes]
    for pair, size_bytes in sizes_by_pair(demand).items():
        count = sum(circuits[pair] for circuits in held)
        dealt = before = 0
        for plane, circuits in enumerate(held):
            dealt += circuits[pair]
            share = size_bytes * dealt // count - before
            before += share
            if share:
                rows[plane].append((pair, share))
    segments = tuple(
        Segment(plane, 0, circuits)
        for plane, circuits in enumerate(planes)
        if len(circuits)
    )
    parts = tuple(
        StepPart(
            0,
            plane,
            0,
            FluidTransfers(
                column(pair[0] for pair, _ in moved),
                column(pair[1] for pair, _ in moved),
                column(share for _, share in moved),
            ),
        )
        for plane, moved in enumerate(rows)
        if moved
    )
    fabric = instance.fabric.table()
    return Schedule(fabric, demand, Algorithm("exact"), segments, parts)
