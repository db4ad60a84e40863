"""Plans: who sends which chunks to whom, before any light path is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
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
