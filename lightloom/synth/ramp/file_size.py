"""Which collectives on RAMP are small enough for a schedule that is kept as a whole."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.instances.fabrics.ramp import Ramp

MOST_ROWS = 2**22
"""Most rows, about, of a schedule that is kept in memory as a whole."""


def most_ranks(fabric: Ramp, op: str) -> int:
    """Return the most ranks for which a schedule of an operation is made."""
    # Blocks of ranks in any order lie apart: a pair of nodes moves each by itself.
    if op in ("all-gather", "all-to-all", "reduce-scatter"):
        return isqrt(MOST_ROWS)
    # Along a tree there is one pair for each rank; else each has a pair a group.
    each = 8 if op in ("gather", "scatter") else 8 * fabric.groups
    return MOST_ROWS // each
