"""Rounds that move parts of a buffer over a De Bruijn digraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lightloom.core.schedule import Op
from lightloom.plans.plan import merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.plans.digraphs.de_bruijn import DeBruijn
    from lightloom.plans.partition import Partition
    from lightloom.plans.plan import Round


class PartMoves(NamedTuple):
    """What moves in a round: source, destination and part of each row."""

    src: IntArray
    dst: IntArray
    part: IntArray
    op: Op

    @classmethod
    def of(cls, src: IntArray, dst: IntArray, part: int, op: Op) -> PartMoves:
        """Return moves of one part."""
        return cls(src, dst, np.full(len(src), part, dtype=np.int64), op)


def round_of(
    graph: DeBruijn, moves: Sequence[PartMoves], cut: Partition
) -> Round | None:
    """Return moves as one round; consecutive parts of a pair in one row."""
    rounds: list[Round | None] = []
    for op in (Op.COPY, Op.REDUCE):
        columns = [(one.src, one.dst, one.part) for one in moves if one.op == op]
        if not columns:
            continue
        src, dst, part = (np.concatenate(c) for c in zip(*columns, strict=True))
        order = np.lexsort((part, dst, src))
        src, dst, part = src[order], dst[order], part[order]
        same = (src[1:] == src[:-1]) & (dst[1:] == dst[:-1])
        same &= part[1:] == part[:-1] + 1
        first = np.flatnonzero(np.concatenate([[True], ~same])[: len(src)])
        length = np.diff(first, append=len(src))
        port = graph.ports(src[first], dst[first])
        src, dst, part = src[first], dst[first], part[first]
        if len(src):
            rounds.append(cut.round(src, dst, part, length, port=port, op=op))
    return merged(rounds)
