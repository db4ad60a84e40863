"""Demands round rings: their ways in lanes, and turns of many more wavelengths."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.division import (
    Division,
    LitDivision,
    durations_of_counts,
)
from lightloom.synth.demand_configurations.lanes import LaneWays
from lightloom.synth.realisation import Realisation
from lightloom.synth.ring.arcs import (
    RingWays,
    arc_colours,
    ring_ways,
    ways_between,
)
from lightloom.synth.ring.load_bounds import ring_bound
from lightloom.synth.ring.quick_circuits import quick_ring_circuits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ring import Ring


_TURNS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_MOST_LIGHT = 2**17
"""Wavelengths of all turns times nodes, beyond which no more turns are tried."""
_WORTH = 1.15
"""Bounds so far above the best are not tried: durations differ by no more."""


def ring_turns(
    fabric: Ring, demand: Demand, seed: int
) -> Iterator[tuple[Realisation, float]]:
    """Yield a demand in one step of a part for each configuration, ever faster.

    With each what it takes, as if every reconfiguration counted.

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
        yield Realisation((), ()), 0.0
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
            yield made, best


def _divided(
    fabric: Ring, demand: Demand, circuits: Circuits, turns: int
) -> tuple[Realisation, float]:
    """Return circuits of too many wavelengths in turns, and how long these last."""
    src, dst, size_bytes = demand_columns(demand, fabric.nodes)
    key = src * fabric.nodes + dst
    lanes = circuits.lists("wavelengths")
    order, row = np.argsort(key), lanes.row_of_value
    mine = (circuits.src * fabric.nodes + circuits.dst)[row]
    pair = order[np.searchsorted(key, mine, sorter=order)]
    many = np.bincount(pair, minlength=len(src))
    bit_ps = BITS_PER_BYTE * PS_PER_S / fabric.bits_per_second_per_wavelength
    need = size_bytes.astype(np.float64) * bit_ps
    # The longest of a wavelength comes first; fibres that share nothing by themselves.
    fibre = circuits.column("direction")[row] % fabric.transceivers
    lap = fibre * turns * fabric.wavelengths + lanes.values
    longest = np.zeros((fabric.transceivers, turns * fabric.wavelengths))
    np.maximum.at(longest.reshape(-1), lap, (need / many)[pair])
    place = np.argsort(np.argsort(-longest, axis=1, kind="stable"), axis=1)
    turn, wavelength = np.divmod(place.reshape(-1)[lap], fabric.wavelengths)
    counts = np.zeros((len(src), turns), dtype=np.int64)
    np.add.at(counts, (pair, turn), 1)
    division = Division(durations_of_counts(need, counts), counts)
    lights = []
    for number in range(turns):
        mine = np.flatnonzero(turn == number)
        mine = mine[np.lexsort((wavelength[mine], row[mine]))]
        rows, width = np.unique(row[mine], return_counts=True)
        on = Ragged.from_lengths(width, wavelength[mine])
        direction = circuits.column("direction")[rows]
        lights.append(
            Circuits(circuits.src[rows], circuits.dst[rows], on, direction=direction)
        )
    rate = fabric.bits_per_second_per_wavelength
    lit = LitDivision(division, tuple(lights))
    realised = lit.realised(rate, src, dst, size_bytes)
    return realised, float(division.durations.sum())


_EFFORT = 2000
"""Of each colouring, see `arc_colours`."""


def ring_lanes(fabric: Ring, demand: Demand, seed: int) -> LaneWays:
    """Return the ways round of the pairs of a demand, each within reach."""
    ways = ring_ways(fabric, demand)
    return _lane_ways(fabric, ways, ways.direction, np.zeros_like(ways.pair), seed)


def grid_lanes(fabric: Ring2d, demand: Demand, seed: int) -> LaneWays:
    """Return the ways of pairs along rows and columns: see `grid_ways`."""
    return _lane_ways(fabric, *grid_ways(fabric, demand), seed)


def grid_ways(fabric: Ring2d, demand: Demand) -> tuple[RingWays, IntArray, IntArray]:
    """Return the ways of pairs along rows and columns, each round its own ring.

    And of each its direction, as circuits name it, and its row or column.

    Raises `InfeasibleError`: a pair that no ring leads to within reach, naming it.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.node_count)
    for row in np.flatnonzero(fabric.circuits_apart(src, dst) != 1)[:1].tolist():
        raise InfeasibleError(
            f"no light goes from node {src[row]} to node {dst[row]}",
            where=f"demand row {row}",
            allowed=f"pairs of one row or column, up to {fabric.reach} spans apart",
            fix="set `relays = true` in a demand",
        )
    along_column = fabric.line(src, 0) != fabric.line(dst, 0)
    parts, directions, lines = [], [], []
    for axis, ring in enumerate(fabric.rings):
        rows = np.flatnonzero(along_column == (axis == 1))
        begin, end = (fabric.line(ends[rows], 1 - axis) for ends in (src, dst))
        part = ways_between(ring, begin, end, size_bytes[rows])
        parts.append(dataclasses.replace(part, pair=rows[part.pair]))
        directions.append(part.direction + 2 * axis)
        lines.append(fabric.line(src[parts[-1].pair], axis))
    pair = np.concatenate([part.pair for part in parts])
    order = np.argsort(pair, kind="stable")
    direction = np.concatenate(directions)[order]
    count = np.bincount(pair, minlength=len(src))
    ways = RingWays(
        src,
        dst,
        size_bytes,
        pair[order],
        direction % 2,
        np.concatenate([part.begin for part in parts])[order],
        np.concatenate([part.hops for part in parts])[order],
        np.cumsum(count) - count,
        count,
    )
    return ways, direction, np.concatenate(lines)[order]


def _lane_ways(
    fabric: Ring | Ring2d,
    ways: RingWays,
    direction: IntArray,
    line: IntArray,
    seed: int,
) -> LaneWays:
    """Return ways on rings, whose lanes are wavelengths.

    `direction`, `line`: of each way: as circuits name it, and the row or column.
    """
    rings = fabric.rings if isinstance(fabric, Ring2d) else (fabric,)
    axis = direction // 2
    ring = (direction * (int(line.max()) + 1) + line).astype(np.int64)

    def light(way: IntArray, lanes: Ragged) -> Circuits:
        pair = ways.pair[way]
        return Circuits(ways.src[pair], ways.dst[pair], lanes, direction=direction[way])

    def colours(way: IntArray, lanes: IntArray) -> IntArray | None:
        """Return lanes, each direction of each ring by itself."""
        colour = np.zeros(len(way), dtype=np.int64)
        for number in np.unique(ring[way]).tolist():
            mine = np.flatnonzero(ring[way] == number)
            nodes = rings[int(axis[way[mine[0]]])].nodes
            arcs = ways.begin[way[mine]], ways.hops[way[mine]]
            room = int(lanes[mine[0]])
            lit = arc_colours(*arcs, nodes, room, seed=seed, effort=_EFFORT)
            if lit is None:
                return None
            colour[mine] = lit
        return colour

    apart = rings[0].transceivers == fabric.directions
    return LaneWays(
        fabric=fabric,
        src=ways.src,
        dst=ways.dst,
        size_bytes=ways.size_bytes,
        pair=ways.pair,
        lanes=np.array([one.wavelengths for one in rings])[axis],
        bits_per_s=fabric.bits_per_second_per_wavelength,
        light=light,
        colours=colours if apart else None,
    )
