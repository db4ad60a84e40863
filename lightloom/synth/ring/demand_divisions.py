"""Demands on a ring divided among configurations: spans limit pairs, as nodes would."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.demand_configurations.lines import Lines, routed_lines
from lightloom.synth.demand_configurations.lit_division import LitDivision
from lightloom.synth.demand_configurations.search import divisions
from lightloom.synth.ring.arc_colouring import arc_colours
from lightloom.synth.ring.arcs import crossings, ring_ways

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.ring.arcs import RingWays

_EFFORT = 2000
"""Of each colouring, see `arc_colours`."""


def ring_divisions(
    fabric: Ring, demand: Demand, seed: int, known_ps: float = math.inf
) -> Iterator[Realisation]:
    """Yield a demand in one step of a part for each configuration, ever faster.

    Every pair goes one way round, chosen such that spans are evenly loaded. Durations
    and wavelengths of each pair come from `divisions`: the lines of a pair are the
    spans that it crosses. Wavelengths are colours of arcs.

    `fabric`: the ring; each direction has transceivers of its own. `demand`: bytes
    between pairs of nodes, each within reach; a pair or more. `seed`: of random
    choices, 0 or more.
    """
    ways = ring_ways(fabric, demand)
    rate = fabric.bits_per_second_per_wavelength
    need = ways.size_bytes.astype(np.float64) * (BITS_PER_BYTE * PS_PER_S / rate)
    way, span = crossings(ways, fabric.nodes)
    places = ways.direction[way] * fabric.nodes + span
    of_way = np.split(places, np.cumsum(ways.hops)[:-1])
    options = [
        of_way[first : first + count]
        for first, count in zip(ways.first.tolist(), ways.count.tolist(), strict=True)
    ]
    nothing = np.zeros(0, dtype=np.int64)
    alone = Lines(need, nothing.reshape(len(need), 0), nothing, 0)
    room = np.full(fabric.directions * fabric.nodes, fabric.wavelengths)
    lines, chosen = routed_lines(alone, options, room)
    lines = replace(lines, exact=len(lines.capacity))
    taken = ways.first + np.array(chosen)
    fixed_ps = float(fabric.alpha_ps + fabric.reconfiguration_ps)
    if not fabric.initial_configuration_charged:
        known_ps += fabric.reconfiguration_ps
    for division in divisions(lines, fixed_ps, seed, known_ps):
        lit = [_lit(fabric, ways, taken, counts, seed) for counts in division.counts.T]
        if all(circuits is not None for circuits in lit):
            whole = LitDivision(division, tuple(one for one in lit if one is not None))
            yield whole.realised(rate, ways.src, ways.dst, ways.size_bytes)


def _lit(
    fabric: Ring, ways: RingWays, taken: IntArray, counts: IntArray, seed: int
) -> Circuits | None:
    """Return circuits of so many wavelengths, ``None`` where none are found."""
    unit = np.repeat(np.arange(len(counts)), counts)
    way = taken[unit]
    colour = np.zeros(len(unit), dtype=np.int64)
    for direction in range(fabric.directions):
        mine = np.flatnonzero(ways.direction[way] == direction)
        found = arc_colours(
            ways.begin[way[mine]],
            ways.hops[way[mine]],
            fabric.nodes,
            fabric.wavelengths,
            seed=seed,
            effort=_EFFORT,
        )
        if found is None:
            return None
        colour[mine] = found
    order = np.lexsort((colour, unit))
    rows = np.flatnonzero(counts)
    return Circuits(
        ways.src[rows],
        ways.dst[rows],
        Ragged.from_lengths(counts[rows], colour[order]),
        direction=ways.direction[taken[rows]],
    )
