"""Parts of a block that ranks hear from others, each from the beginning on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray


_LITTLE = 1e-5
"""What an amount may fall short of the whole block by rounding."""


def prefix_parts(
    order: IntArray, src: IntArray, dst: IntArray, amount: FloatArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Return what moves over some arcs, step by step, of a block that one rank has.

    A rank hears the block from its beginning on, and never more than those whom it
    hears from had a step before, whatever the last digits of the amounts. What rounding
    leaves out at the end comes as soon as one of them has it, if need be a step later
    than any amount.

    `order`: all ranks, the one that has the block first, each after those it hears
    from. `amount`: share of the block that an arc brings in each step, shape (arcs,
    steps).

    Returns columns of step, source, destination, and where the part begins and ends,
    from 0 to 1.
    """
    rows: list[tuple[float, ...]] = []
    steps = amount.shape[1]
    had = {int(order[0]): [1.0]}
    tellers_of: dict[int, list[int]] = {}
    for teller, rank in zip(src.tolist(), dst.tolist(), strict=True):
        tellers_of.setdefault(rank, []).append(teller)
    moved: dict[int, list[tuple[int, int, float]]] = {}
    arcs, when_each = np.nonzero(amount)
    sizes = amount[arcs, when_each].tolist()
    ends = zip(src[arcs].tolist(), dst[arcs].tolist(), strict=True)
    for (teller, rank), step, size in zip(ends, when_each.tolist(), sizes, strict=True):
        moved.setdefault(rank, []).append((step, teller, size))
    for rank in order[1:].tolist():
        begin, due = 0.0, 0.0
        until = [0.0] * (steps + 1)
        step = 0
        for step, teller, size in sorted(moved.get(rank, []), key=lambda one: one[0]):
            due += size
            end = 1.0 if due > 1.0 - _LITTLE else due
            end = min(end, _held(had[teller], step))
            if end > begin:
                rows.append((step, teller, rank, begin, end))
                begin = end
            until[step + 1] = begin
        for later in range(steps):
            until[later + 1] = max(until[later + 1], until[later])
        if begin < 1.0:
            # Rounding of many small amounts lost the end of the block.
            step, teller = min(
                (max(step, had[one].index(1.0)), one) for one in tellers_of[rank]
            )
            rows.append((step, teller, rank, begin, 1.0))
            until = [_held(until, early) for early in range(step + 1)] + [1.0]
        had[rank] = until
    table = np.array(rows)
    when, tellers, ranks = table[:, :3].T.astype(np.int64)
    return when, tellers, ranks, table[:, 3], table[:, 4]


def _held(until: Sequence[float], step: int) -> float:
    """Return how much of the block a rank has at the beginning of a step."""
    return until[min(step, len(until) - 1)]
