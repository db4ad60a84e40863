"""Partition of a buffer into nearly equal parts, and rounds that move such parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.plans.plan import Round

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Op


@dataclass(frozen=True)
class Partition:
    """A buffer of `chunks` chunks seen as a circle of `parts` nearly equal parts.

    Part i is the chunks ``floor(i chunks / parts) .. floor((i + 1) chunks / parts)``,
    so cutting every part again in equal parts gives the same boundaries, whatever
    divides what. Parts are empty where there are more of them than chunks.

    `parts`: number of parts, 1 to 2**31. `chunks`: number of chunks, at least 1.
    """

    parts: int
    chunks: int

    def boundary(self, position: IntArray) -> IntArray:
        """Return the first chunk of the parts at some positions, 0 to `parts`."""
        whole, rest = divmod(self.chunks, self.parts)
        if not rest:
            return position * whole
        # The product position * chunks itself may not fit 63 bits.
        return position * whole + position * rest // self.parts

    def round(
        self,
        src: IntArray,
        dst: IntArray,
        start: IntArray | int,
        length: IntArray | int,
        *,
        port: IntArray | int,
        op: Op,
        base: IntArray | int = 0,
    ) -> Round | None:
        """Return a round that moves circular ranges of parts.

        `src`, `dst`, `port`: as in `Round`; everything is broadcast to one shape.
        `start`, `length`: row i moves parts ``start .. start + length`` modulo `parts`,
        where ``0 <= length <= parts``; a range past the end becomes two rows.

        Returns the round, without rows that became empty; ``None`` if all did.
        """
        columns = np.broadcast_arrays(src, dst, start, length, port, base)
        src, dst, start, length, port, base = (c.reshape(-1) for c in columns)
        first = start % self.parts
        end = first + length
        lo, hi = self.boundary(first), self.boundary(np.minimum(end, self.parts))
        around = np.flatnonzero(end > self.parts)
        if len(around):
            beyond = self.boundary(end[around] - self.parts)
            lo = np.concatenate([lo, np.zeros_like(beyond)])
            hi = np.concatenate([hi, beyond])
            src, dst, port, base = (
                np.concatenate([c, c[around]]) for c in (src, dst, port, base)
            )
        kept = lo < hi
        if not kept.any():
            return None
        if not kept.all():
            lo, hi, src, dst, port, base = (
                c[kept] for c in (lo, hi, src, dst, port, base)
            )
        code = np.full(len(src), int(op), dtype=np.int64)
        return Round(src, dst, base + lo, base + hi, code, port)
