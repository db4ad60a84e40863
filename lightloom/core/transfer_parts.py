"""Chunks on the move as the steps of a schedule, chunks in a row as one transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import column
from lightloom.core.schedule import StepPart, Transfers

if TYPE_CHECKING:
    from collections.abc import Iterable


def transfer_parts(
    moves: Iterable[tuple[int, int, int, int, int]],
) -> tuple[StepPart, ...]:
    """Return moves as steps without planes and segments.

    Parameters
    ----------
    moves
        (step, src, dst, op, chunk) of each chunk that moves, in any order; ``op`` is
        the code of an `Op`. Steps without moves are left out, so the others count
        0, 1, 2, ...

    Notes
    -----
    Deterministic: a step is sorted by src, dst, op and chunk. A move that is given
    twice is there twice.
    """
    rows = np.array(sorted(moves), dtype=np.int64).reshape(-1, 5)
    if not len(rows):
        return ()
    follows = np.zeros(len(rows), dtype=np.bool_)
    gap = np.diff(rows, axis=0)
    follows[1:] = (gap[:, :4] == 0).all(axis=1) & (gap[:, 4] == 1)
    first = np.flatnonzero(~follows)
    last = np.append(first[1:], len(rows)) - 1
    step, src, dst, op, low = rows[first].T
    high = rows[last, 4] + 1
    parts = []
    bounds = np.flatnonzero(np.diff(step)) + 1
    for index, group in enumerate(np.split(np.arange(len(step)), bounds)):
        columns = (column(each[group]) for each in (src, dst, low, high, op))
        parts.append(StepPart(index, None, None, Transfers(*columns)))
    return tuple(parts)
