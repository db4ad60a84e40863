"""Demands on a LIGHTPATH rack in one step, divided among several configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError
from lightloom.core.schedule import FluidTransfers, Segment, StepPart
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.edge_colouring import edge_colours
from lightloom.routing.congestion import capacity_by_id, check_reachable
from lightloom.routing.dimension_order import dimension_ordered
from lightloom.routing.minimum_congestion import minimum_congestion
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.least_durations import moved_bytes
from lightloom.synth.demand_configurations.lines import node_lines
from lightloom.synth.demand_configurations.search import divisions
from lightloom.synth.realisation import Realisation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.lightpath import Lightpath

__all__ = ["CONFIGURATIONS", "realised_divisions"]

CONFIGURATIONS = "configurations"
"""Name of the algorithm."""


def realised_divisions(
    fabric: Lightpath, demand: Demand, seed: int
) -> Iterator[Realisation]:
    """Yield a demand in one step of a part for each configuration, ever faster.

    Durations and wavelengths of each pair come from `divisions`, wavelengths by edge
    colouring, routes along rows first. Where a wavelength of a configuration does not
    fit the waveguides so, nor on any routes that are found, the division is left out.

    Parameters
    ----------
    fabric
        The rack.
    demand
        Bytes between pairs of tiles.
    seed
        Of random choices, 0 or more.

    Raises
    ------
    InfeasibleError
        There is something to send and no laser to send it, or no way to go.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.node_count)
    if not len(src):
        yield Realisation((), ())
        return
    if not fabric.lasers:
        what = "nothing can be sent: the nodes have no lasers"
        raise InfeasibleError(what, where="fabric.lasers", found=0)
    room = fabric.edge_waveguides(*fabric.edges())
    check_reachable(fabric, src, dst, capacity_by_id(fabric, room))
    bit_ps = BITS_PER_BYTE * PS_PER_S / fabric.bits_per_second_per_wavelength
    need = size_bytes.astype(np.float64) * bit_ps
    lines = node_lines(src, dst, need, fabric.node_count, fabric.lasers)
    rate = fabric.bits_per_second_per_wavelength
    fixed_ps = fabric.alpha_ps + fabric.reconfiguration_ps
    for division in divisions(lines, float(fixed_ps), seed):
        moved = moved_bytes(rate, size_bytes, division)
        segments: list[Segment] = []
        parts: list[StepPart] = []
        for of_pair, counts in zip(moved.T, division.counts.T, strict=True):
            rows = np.flatnonzero(of_pair)
            if not len(rows):
                continue
            circuits = _circuits(fabric, src[rows], dst[rows], counts[rows])
            if circuits is None:
                break
            number = len(segments)
            segments.append(Segment(0, number, circuits))
            sent = FluidTransfers(src[rows], dst[rows], of_pair[rows])
            parts.append(StepPart(0, 0, number, sent))
        else:
            yield Realisation(tuple(segments), tuple(parts))


def _circuits(
    fabric: Lightpath, src: IntArray, dst: IntArray, counts: IntArray
) -> Circuits | None:
    """Return circuits of so many wavelengths, ``None`` where waveguides are too few."""
    row = np.repeat(np.arange(len(src)), counts)
    wavelength = edge_colours(src[row], dst[row])
    order = np.lexsort((wavelength, row))
    lit = Ragged.from_lengths(counts, wavelength[order])
    for first in ("row", "column"):
        route = dimension_ordered(fabric, src, dst, first=first)
        circuits = Circuits(src, dst, lit, route)
        if _fits(fabric, circuits):
            return circuits
    return _routed(fabric, src[row], dst[row], wavelength)


def _fits(fabric: Lightpath, circuits: Circuits) -> bool:
    usage = fabric.usage(circuits)
    resources, taken = np.unique(usage.resource, return_counts=True)
    return bool((taken <= fabric.capacity(resources)).all())


def _routed(
    fabric: Lightpath, src: IntArray, dst: IntArray, wavelength: IntArray
) -> Circuits | None:
    """Return circuits of a wavelength each on routes of least congestion."""
    capacity = fabric.edge_waveguides(*fabric.edges())
    if not capacity.all():
        return None
    columns: list[tuple[int, int, tuple[int, ...], int]] = []
    for colour in range(int(wavelength.max()) + 1):
        mine = np.flatnonzero(wavelength == colour)
        found = minimum_congestion(fabric, src[mine], dst[mine], capacity=capacity)
        if found.congestion > 1:
            return None
        columns += [
            (int(a), int(b), tuple(tiles), colour)
            for a, b, tiles in zip(
                src[mine], dst[mine], found.route.to_lists(), strict=True
            )
        ]
    together: dict[tuple[int, int, tuple[int, ...]], list[int]] = {}
    for a, b, tiles, colour in sorted(columns):
        together.setdefault((a, b, tiles), []).append(colour)
    ends = np.array([(a, b) for a, b, _ in together], dtype=np.int64)
    return Circuits(
        ends[:, 0],
        ends[:, 1],
        Ragged.from_lists(list(together.values())),
        Ragged.from_lists([list(tiles) for _, _, tiles in together]),
    )
