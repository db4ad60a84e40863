"""Closes the gap between the bound of a ring and its circuits, from both sides."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.synth.ring.direction_split_program import solved_split
from lightloom.synth.ring.load_bounds import RingBound
from lightloom.synth.ring.ratio_ladder import light_coloured, light_split
from lightloom.validate.certificates.circuits_per_byte import PricedPairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays
    from lightloom.synth.ring.column_generation import PriceSearch
    from lightloom.synth.ring.ratio_ladder import Ladder
    from lightloom.synth.ring.wavelength_occupancy import LitRing

MOST_PAIRS = 512
"""Pairs up to which prices and laps are worth their time at all."""
_FEW_PAIRS = 64
"""Pairs up to which they are worth it for any gap."""
_SMALL_GAP = Fraction(3, 100)
_SPLITS = 6
_PACKINGS = 6
_PACKINGS_OF_MANY = 2
_EFFORT = 5_000
"""Of colouring a split that a solver found."""


def worth_finishing(ladder: Ladder, depth: int, pairs: int) -> bool:
    """Return whether the gap between a depth and the top is worth the time it takes.

    Few pairs are always; more, where the gap is above 3 % or no circuits were found.
    """
    if not depth or pairs > MOST_PAIRS:
        return False
    few = pairs <= _FEW_PAIRS
    return few or ladder.ratio(depth) < (1 - _SMALL_GAP) * ladder.ratio(0)


def priced_bound(
    search: PriceSearch, ladder: Ladder, depth: int, bound: RingBound
) -> tuple[RingBound, int]:
    """Return the best bound by prices above a depth, and how deep it is.

    Halving: what does not fit at a depth does not fit above it.
    """
    best, low, high = bound, -1, depth
    while high - low > 1:
        middle = (low + high) // 2
        prices = search.prices(ladder.counts(middle))
        if prices is None:
            high = middle
            continue
        low = middle
        ratio = ladder.ratio(low + 1)
        counts = ladder.counts(min(low + 1, ladder.levels - 1))
        best = RingBound(ratio, counts, PricedPairs(ratio, prices))
    return best, low + 1


def split_anew(
    fabric: Ring, ways: RingWays, ladder: Ladder, depth: int, seed: int
) -> tuple[LitRing | None, int]:
    """Return circuits above a depth, if a solver splits them over the ways so.

    `seed`: of the solver and of the colouring, whose work is limited: the same
    arguments have one answer.

    Returns ``None`` and the depth of what was found where that stays the best.
    """
    if len(ways.src) > MOST_PAIRS or not (ways.count == 2).any():
        return None, depth

    def light(counts: IntArray) -> LitRing | None:
        on_way = solved_split(fabric, ways, counts, seed)
        if on_way is None:
            return None
        return light_split(fabric, ways, on_way, seed, _EFFORT)

    return _nearer(ladder, (0, depth), _SPLITS, light)


def packed_laps(
    fabric: Ring,
    ways: RingWays,
    ladder: Ladder,
    span: tuple[int, int],
    *,
    search: PriceSearch,
    seed: int,
) -> tuple[LitRing | None, int]:
    """Return circuits nearer to the bound, if laps can be packed so.

    `seed`: of the packing; its limits are on work, so the same arguments have one
    answer.

    Returns ``None`` and the depth of what was found where that stays the best.
    """

    def light(counts: IntArray) -> LitRing | None:
        fits = search.prices(counts) is None
        lit = search.packed(counts, seed) if fits else None
        return None if lit is None else light_coloured(fabric, ways, *lit)

    few = len(ways.src) <= _FEW_PAIRS
    return _nearer(ladder, span, _PACKINGS if few else _PACKINGS_OF_MANY, light)


def _nearer(
    ladder: Ladder,
    span: tuple[int, int],
    questions: int,
    light: Callable[[IntArray], LitRing | None],
) -> tuple[LitRing | None, int]:
    """Return the best that so many questions find between two depths, the top first."""
    best: LitRing | None = None
    target, depth = span
    low = target
    for _ in range(questions):
        if target >= depth:
            break
        ring = light(ladder.counts(target))
        if ring is None:
            low = target + 1
        else:
            best, depth = ring, target
        target = (low + depth) // 2
    return best, depth
