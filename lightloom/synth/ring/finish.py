"""The last gap of a ring: prices from above, and laps packed from below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.synth.ring.level import light_coloured
from lightloom.synth.ring.lines import RingBound
from lightloom.validate.ring import PricedPairs

if TYPE_CHECKING:
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.level import Ladder
    from lightloom.synth.ring.lit_ring import LitRing
    from lightloom.synth.ring.prices import PriceSearch
    from lightloom.synth.ring.ways import RingWays

MOST_PAIRS = 512
"""Pairs up to which prices and laps are worth their time."""
_QUESTIONS = 6


def priced_bound(
    search: PriceSearch, ladder: Ladder, depth: int, bound: RingBound
) -> tuple[RingBound, int]:
    """Return the best bound by prices above a depth, and how deep it is.

    Parameters
    ----------
    search, ladder
        The question.
    depth
        Where circuits were found; `Ladder.levels` where they were not.
    bound
        The bound at the top of the ladder, returned if prices prove no more.

    Notes
    -----
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


def nearer(
    fabric: Ring,
    ways: RingWays,
    ladder: Ladder,
    span: tuple[int, int],
    *,
    search: PriceSearch,
    seed: int,
) -> tuple[LitRing | None, int]:
    """Return circuits nearer to the bound, if laps can be packed so.

    Parameters
    ----------
    fabric, ways, ladder
        The question.
    span
        Depths of the bound, and of what was found.
    search
        Of the same question; knows laps.
    seed
        Of the packing; its limits are on work, so the same arguments have one answer.

    Returns
    -------
    ``None`` and the depth of what was found where that stays the best.
    """
    best: LitRing | None = None
    target, depth = span
    low = target
    for _ in range(_QUESTIONS):
        if target >= depth:
            break
        counts = ladder.counts(target)
        fits = search.prices(counts) is None
        lit = search.packed(counts, seed) if fits else None
        ring = None if lit is None else light_coloured(fabric, ways, *lit)
        if ring is None:
            low = target + 1
        else:
            best, depth = ring, target
        target = (low + depth) // 2
    return best, depth
