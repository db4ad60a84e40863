"""The reversal of rounds, with time and arcs turned around."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.plan import Round

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.schedule import Op


def reversed_rounds(rounds: Sequence[Round], op: Op) -> list[Round]:
    """Return rounds in reverse order, every transfer from dst to src.

    Where each rank receives each chunk at most once, and never what it had from
    the start, the routes of a chunk form a tree from its first holder. Turned
    around they lead to that holder, every rank passing on once, after all that
    came to it. So with `reduce` an all-gather becomes a reduce-scatter and a
    broadcast a reduce; with `copy` a scatter becomes a gather and back.
    """
    return [
        Round(
            one.dst,
            one.src,
            one.chunk_lo,
            one.chunk_hi,
            np.full_like(one.op, int(op)),
            one.port,
        )
        for one in reversed(rounds)
    ]
