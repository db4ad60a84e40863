"""Slots in an order in which circuits stay, where these remain lit during a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray


def order_to_keep(
    pairs: Sequence[IntArray], switch: IntArray, lasts: FloatArray
) -> list[int]:
    """Return slots, switch by switch, each next to one with many circuits in common.

    The longest of a switch comes first, then always the one that keeps most circuits
    of the one before, the longest among equals.

    `pairs`: rows of the demand that each slot holds.
    """
    order: list[int] = []
    for one in np.unique(switch).tolist():
        rest = np.flatnonzero(switch == one)
        rest = rest[np.argsort(-lasts[rest], kind="stable")].tolist()
        order.append(rest.pop(0))
        while rest:
            before = pairs[order[-1]]
            common = [len(np.intersect1d(before, pairs[slot])) for slot in rest]
            order.append(rest.pop(int(np.argmax(common))))
    return order


def kept_pairs(
    pairs: Sequence[IntArray], switch: IntArray
) -> list[npt.NDArray[np.bool_]]:
    """Return which pairs of each slot the slot before on the same switch holds too.

    `pairs`, `switch`: of slots in the order in which each switch holds them.
    """
    kept = []
    for slot, mine in enumerate(pairs):
        follows = slot > 0 and switch[slot - 1] == switch[slot]
        before = pairs[slot - 1] if follows else mine[:0]
        kept.append(np.isin(mine, before))
    return kept
