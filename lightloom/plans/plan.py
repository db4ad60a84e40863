"""Plans: who sends which chunks to whom, before any light path is chosen.

Rounds of transfers, the parts of a buffer that they move, and their reversal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Op
    from lightloom.core.task import Collective


@dataclass(frozen=True, eq=False)
class Round:
    """Transfers released together, between ranks; row i is one chunk range.

    Attributes
    ----------
    src, dst
        Ranks, shape (rows,).
    chunk_lo, chunk_hi
        Half-open chunk range, never empty.
    op
        `lightloom.core.schedule.Op` codes, shape (rows,).
    port
        Which of the simultaneous peers the row belongs to, counted from 0. Within
        a round the (src, dst) pairs of one port form a partial permutation: no
        source and no destination appears in two different pairs. All rows of one
        pair have one port.
    """

    src: IntArray
    dst: IntArray
    chunk_lo: IntArray
    chunk_hi: IntArray
    op: IntArray
    port: IntArray


@dataclass(frozen=True, eq=False)
class Plan:
    """An algorithm worked out for a collective whose chunk count is chosen.

    All transfers of a round read the state at its start; writes take effect at its
    end, exactly as the steps of a schedule do.
    """

    collective: Collective
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class RoundOutline:
    """What a round of a plan takes at least, known before the plan is made.

    Some rank sends, or receives, `streams` equal streams at once, each of `share` of
    the buffer or more, over ports of its own. What is known only in sum is one stream.

    Attributes
    ----------
    streams
        1 or more.
    share
        From 0.
    circuits
        Rounds of equal numbers may use the same circuits; others have none in common.
    idle
        Ports that other ranks use meanwhile, and that rank does not.
    """

    streams: int
    share: Fraction
    circuits: int = 0
    idle: int = 0


@runtime_checkable
class Outlined(Protocol):
    """An algorithm that can say what its rounds take at least, without making them."""

    def outline(self, ranks: int, ports: int, op: str) -> tuple[RoundOutline, ...]:
        """Return the least rounds of a plan, in order.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once, at least 1.
        op
            The collective.

        Returns
        -------
        A plan has these rounds or more. Costs much less than the plan.
        """


def merged(rounds: list[Round | None]) -> Round | None:
    """Return rounds of different parts as one."""
    some = [one for one in rounds if one is not None]
    if not some:
        return None
    return Round(*(np.concatenate(columns) for columns in _columns(some)))


def _columns(rounds: list[Round]) -> Iterator[tuple[IntArray, ...]]:
    """Yield each column of all rounds."""
    for name in ("src", "dst", "chunk_lo", "chunk_hi", "op", "port"):
        yield tuple(getattr(one, name) for one in rounds)


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
