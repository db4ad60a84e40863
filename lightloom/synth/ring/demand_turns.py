"""Demands on a ring in one step, divided among configurations that take turns."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.schedule import FluidTransfers, Segment, StepPart
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.durations import (
    durations_of_counts,
    moved_bytes,
)
from lightloom.synth.demand_configurations.exact_division import LitDivision
from lightloom.synth.demand_configurations.lines import Lines, routed_lines
from lightloom.synth.demand_configurations.search import Division, divisions
from lightloom.synth.realisation import Realisation
from lightloom.synth.ring.arcs import arc_colours, crossings, ring_ways
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.quick_circuits import quick_ring_circuits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays


_TURNS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_MOST_LIGHT = 2**17
"""Wavelengths of all turns times nodes, beyond which no more turns are tried."""
_WORTH = 1.15
"""Bounds so far above the best are not tried: durations differ by no more."""


def ring_turns(fabric: Ring, demand: Demand, seed: int) -> Iterator[Realisation]:
    """Yield a demand in one step of a part for each configuration, ever faster.

    A ring with m times as many wavelengths serves all pairs at once, each with
    circuits by its bytes: as they fit m configurations, each with so many wavelengths,
    they take turns. Wavelengths whose pairs have least to move per circuit share a
    configuration, and a linear program sets how long each lasts. Many turns divide
    light finely, few cost little; numbers of turns are tried from few on, as long as
    the bound on circuits does not rule them out.

    `demand`: bytes between pairs of nodes, each within reach.
    """
    ways = ring_ways(fabric, demand)
    if not len(ways.src):
        yield Realisation((), ())
        return
    bit_ps = BITS_PER_BYTE * PS_PER_S / fabric.bits_per_second_per_wavelength
    each_ps = fabric.alpha_ps + fabric.reconfiguration_ps
    best = float("inf")
    for turns in _TURNS:
        most = turns * fabric.wavelengths
        if turns * each_ps >= best or most * fabric.nodes > _MOST_LIGHT:
            return
        taller = replace(fabric, wavelengths=most, bits_per_second_per_wavelength=1)
        bound = ring_bound(taller, ways)
        if not bound.ratio:
            continue
        least = turns * (each_ps + bit_ps * float(1 / bound.ratio))
        if least >= best * _WORTH:
            continue
        try:
            circuits = quick_ring_circuits(taller, demand, seed=seed)
        except (InfeasibleError, NoAnswerError):
            continue
        made, lasts = _divided(fabric, demand, circuits, turns)
        if lasts + turns * each_ps < best:
            best = lasts + turns * each_ps
            yield made


def _divided(
    fabric: Ring, demand: Demand, circuits: Circuits, turns: int
) -> tuple[Realisation, float]:
    """Return circuits of too many wavelengths in turns, and how long these last."""
    src, dst, size_bytes = demand_columns(demand, fabric.nodes)
    key = src * fabric.nodes + dst
    lit = circuits.lists("wavelengths")
    order, row = np.argsort(key), lit.row_of_value
    mine = (circuits.src * fabric.nodes + circuits.dst)[row]
    pair = order[np.searchsorted(key, mine, sorter=order)]
    many = np.bincount(pair, minlength=len(src))
    bit_ps = BITS_PER_BYTE * PS_PER_S / fabric.bits_per_second_per_wavelength
    need = size_bytes.astype(np.float64) * bit_ps
    # The longest of a wavelength comes first; fibres that share nothing by themselves.
    fibre = circuits.column("direction")[row] % fabric.transceivers
    lap = fibre * turns * fabric.wavelengths + lit.values
    longest = np.zeros((fabric.transceivers, turns * fabric.wavelengths))
    np.maximum.at(longest.reshape(-1), lap, (need / many)[pair])
    place = np.argsort(np.argsort(-longest, axis=1, kind="stable"), axis=1)
    turn, wavelength = np.divmod(place.reshape(-1)[lap], fabric.wavelengths)
    counts = np.zeros((len(src), turns), dtype=np.int64)
    np.add.at(counts, (pair, turn), 1)
    nothing = np.zeros(0, dtype=np.int64)
    lines = Lines(need, nothing.reshape(len(src), 0), nothing, 0)
    division = Division(durations_of_counts(lines.need, counts), counts)
    moved = moved_bytes(fabric.bits_per_second_per_wavelength, size_bytes, division)
    segments: list[Segment] = []
    parts: list[StepPart] = []
    for number in range(turns):
        sent = np.flatnonzero(moved[:, number])
        mine = np.flatnonzero((turn == number) & (moved[pair, number] > 0))
        if not len(sent):
            continue
        mine = mine[np.lexsort((wavelength[mine], row[mine]))]
        rows, width = np.unique(row[mine], return_counts=True)
        lights = Circuits(
            circuits.src[rows],
            circuits.dst[rows],
            Ragged.from_lengths(width, wavelength[mine]),
            direction=circuits.column("direction")[rows],
        )
        segments.append(Segment(0, len(segments), lights))
        bits = FluidTransfers(src[sent], dst[sent], moved[sent, number])
        parts.append(StepPart(0, 0, len(segments) - 1, bits))
    return Realisation(tuple(segments), tuple(parts)), float(division.durations.sum())


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
    lines = dataclasses.replace(lines, exact=len(lines.capacity))
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
