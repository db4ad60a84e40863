"""Demands on a LIGHTPATH rack in one step, divided among several configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.edge_colouring import edge_colours
from lightloom.routing.graph import capacity_by_id, check_reachable
from lightloom.routing.routes import dimension_ordered
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.division import Division, LitDivision
from lightloom.synth.demand_configurations.exact_division import MOST_PAIRS
from lightloom.synth.demand_configurations.lines import node_lines
from lightloom.synth.demand_configurations.search import divisions
from lightloom.synth.demand_configurations.units import (
    MOST_EXACT,
    cut_pairs,
    unit_shapes,
)
from lightloom.synth.lightpath.few_waveguides import FewWaveguides
from lightloom.synth.lightpath.small_demands import small_division
from lightloom.synth.realisation import Realisation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.synth.demand_configurations.lines import Lines

_MOST_SHAPES = 2
"""Lengths of units, best promise first, that are laid out and lit: each takes a
placement of all units."""
_FULLER = 4 / 3
"""How much longer a cut needs than any node where only cuts are looked at: below,
either may be what holds a demand up."""
_FEW_UNITS = 1_400
"""Units up to which cuts may be filled to the last waveguide; of more, a part is left
free, so that all find a place."""
_SOME_UNITS = 2_400
"""Units up to which divisions are searched between cuts as well: placing them takes
time for each unit, and for each that it pushes aside."""
_FULL = 0.95
"""Of the waveguides across a cut, what so many units may take."""
_MOST_LASERS = 64
"""Lasers up to which units are laid out: their tables grow with the lasers of a
node."""
_MOST_PAIRS = 6_000
"""Pairs up to which units are laid out: each unit is placed by itself."""


def realised_divisions(
    fabric: Lightpath, demand: Demand, seed: int
) -> Iterator[Realisation]:
    """Yield a demand in one step of a part for each configuration, ever faster.

    Durations and wavelengths of each pair come from `divisions`, wavelengths by edge
    colouring, routes along rows first. Where waveguides are too few for that, edges
    limit pairs too, and cuts across the grid (`FewWaveguides`). Of few pairs the best
    division comes first, and alone where it is proven and lit.

    `seed`: of random choices, 0 or more.

    Raises `InfeasibleError`: there is something to send and no laser to send it, or no
    way to go.
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
    rate = fabric.bits_per_second_per_wavelength
    bit_ps = BITS_PER_BYTE * PS_PER_S / rate
    need = size_bytes.astype(np.float64) * bit_ps
    lines = node_lines(src, dst, need, fabric.node_count, fabric.lasers)
    fixed_ps = float(fabric.alpha_ps + fabric.reconfiguration_ps)
    few = FewWaveguides(fabric, src, dst, lines)
    exact = small_division(fabric, demand)
    if exact is not None and exact.best is not None:
        durations = exact.best.durations_ps.astype(np.float64)
        division = Division(durations, exact.best.counts)
        lit = _lit(fabric, src, dst, division) or few.lit(division)
        if lit is not None:
            yield lit.realised(rate, src, dst, size_bytes)
            if exact.proven and lit.division is division:
                return
    for lit in _searched(fabric, src, dst, lines, few, fixed_ps, seed):
        yield lit.realised(rate, src, dst, size_bytes)


def _searched(
    fabric: Lightpath,
    src: IntArray,
    dst: IntArray,
    lines: Lines,
    few: FewWaveguides,
    fixed_ps: float,
    seed: int,
) -> Iterator[LitDivision]:
    """Yield divisions by what nodes have, and edges and cuts where these are few.

    Of many pairs by cuts alone where one is much fuller than any node.
    """
    cuts = few.cut_lines()
    if len(src) > MOST_PAIRS and cuts.least_total > _FULLER * lines.least_total:
        found = False
        for made in _between_cuts(few, cuts, fixed_ps, seed):
            found = True
            yield made
        if found:
            return
    fits = True
    for division in divisions(lines, fixed_ps, seed):
        lit = _lit(fabric, src, dst, division) if fits else few.lit(division)
        if lit is None:
            fits, lit = False, few.lit(division)
        if lit is not None:
            yield lit
    if not fits and few.lines is not None:
        for division in divisions(few.lines, fixed_ps, seed):
            lit = few.lit(division)
            if lit is not None:
                yield lit
        yield from _between_cuts(few, cuts, fixed_ps, seed)


def _between_cuts(
    few: FewWaveguides, lines: Lines, fixed_ps: float, seed: int
) -> Iterator[LitDivision]:
    """Yield divisions that straight cuts across the grid have waveguides for.

    Units that fill one configuration after the other: of one length and what is left,
    at the lengths that promise most; then of a length for each of many configurations.
    And of few pairs what is found with cuts as lines.
    """
    lasers = int(lines.capacity[0])
    if lasers > _MOST_LASERS or len(lines.need) > _MOST_PAIRS:
        return
    shapes = unit_shapes(lines)
    promise = sorted(
        (float(shape.durations.sum()) + count * fixed_ps, count)
        for count, shape in shapes.items()
    )
    for _, count in promise[:_MOST_SHAPES]:
        lit = few.in_turn(cut_pairs(lines.need, shapes[count].cut))
        if lit is not None:
            yield lit
    for _, count in promise[:_MOST_SHAPES]:
        units = None
        if count > MOST_EXACT:
            units = few.nested_units(count, shapes[count].durations, seed)
        lit = None if units is None else few.in_turn(units)
        if lit is not None:
            yield lit
    smallest = len(lines.need) * lines.fewest()
    if smallest <= _SOME_UNITS:
        full = 1.0 if smallest <= _FEW_UNITS else _FULL
        for division in divisions(few.cut_lines(full), fixed_ps, seed):
            lit = few.lit(division)
            if lit is not None:
                yield lit


def _lit(
    fabric: Lightpath, src: IntArray, dst: IntArray, division: Division
) -> LitDivision | None:
    """Return circuits by edge colouring, ``None`` where waveguides are too few."""
    found = []
    for counts in division.counts.T:
        rows = np.flatnonzero(counts)
        circuits = _circuits(fabric, src[rows], dst[rows], counts[rows])
        if circuits is None:
            return None
        found.append(circuits)
    return LitDivision(division, tuple(found))


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
    return None


def _fits(fabric: Lightpath, circuits: Circuits) -> bool:
    usage = fabric.usage(circuits)
    resources, taken = np.unique(usage.resource, return_counts=True)
    return bool((taken <= fabric.capacity(resources)).all())
