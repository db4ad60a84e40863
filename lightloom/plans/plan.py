"""Plans: who sends which chunks to whom, before any light path is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

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
