"""Held circuits: a transfer uses a circuit that is truly there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import distinct
from lightloom.core.violation import Violation
from lightloom.validate.checks.transfers import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule


def check(node_count: int, schedule: Schedule) -> Iterator[Violation]:
    """Yield transfers between nodes that their segment does not connect.

    Rule ``circuit-held``. Steps that name no segment there is, and transfers that
    leave the fabric, are other rules' business. A circuit that is malformed still
    counts as there, under its declared source and destination.
    """
    held: dict[tuple[int | None, int | None], IntArray] = {}
    for segment in schedule.segments:
        circuits = segment.circuits
        if len(circuits.src) == len(circuits.dst):
            pairs = distinct(circuits.src * node_count + circuits.dst)
            held.setdefault((segment.plane, segment.index), pairs)
    for part in schedule.parts:
        there = held.get((part.plane, part.segment))
        if there is None or unreadable(part):
            continue
        src, dst = part.transfers.src, part.transfers.dst
        inside = (src >= 0) & (src < node_count) & (dst >= 0) & (dst < node_count)
        lost = inside & (src != dst) & ~_among(src * node_count + dst, there)
        for row in np.flatnonzero(lost).tolist():
            where = f"circuit {src[row]} -> {dst[row]}"
            message = (
                f"row {row} moves data on a circuit that segment {part.segment} of"
                f" plane {part.plane} does not hold"
            )
            yield Violation("circuit-held", part.index, where, message)


def _among(pairs: IntArray, held: IntArray) -> npt.NDArray[np.bool_]:
    """Return which pairs are among those held, sorted and distinct."""
    if not len(held):
        return np.zeros(len(pairs), dtype=np.bool_)
    place = np.minimum(np.searchsorted(held, pairs), len(held) - 1)
    found: npt.NDArray[np.bool_] = held[place] == pairs
    return found
