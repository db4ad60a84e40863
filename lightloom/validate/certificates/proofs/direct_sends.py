"""Sends that cannot be forwarded: those of a round that is the first, or the last.

In the first round a chunk can only come from where it was from the start. With time
turned around, what a node sends first in the last round goes to whoever must hold it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.validate.certificates.completion_time.collective_needs import (
        CollectiveNeeds,
    )
    from lightloom.validate.certificates.completion_time.requirements import (
        Mask,
    )


class DirectSends(NamedTuple):
    """What a node set must send, or receive, and what that takes in one round.

    `size_bytes`: what each of its nodes must receive from outside, or must send, added
    up. `crossings`: circuits over the border of the set that each chunk of it takes at
    least if it is not forwarded. `circuits`: circuits of the nodes of the set that it
    takes then.
    """

    size_bytes: int
    crossings: int
    circuits: int


def direct_sends(needs: CollectiveNeeds, inside: Mask) -> DirectSends:
    """Return what a node set, shape (nodes,), receives or, with reduction, sends.

    Without reduction counted are the chunks that nodes of the set must hold and that
    start outside it, once for each such node. With reduction counted are the
    contributions of the set's nodes to chunks that must be held outside, or by several
    nodes inside; each leaves its node, for all who must hold the chunk if it is only
    sent in the last round.

    `inside`: whether each node is in the set, shape (nodes,).
    """
    rank_inside = inside[list(needs.collective.nodes)]
    held_inside = _holders(needs, rank_inside)
    if not needs.reduces:
        outside = ~rank_inside[needs.origin]
        chunks = int((needs.chunks * held_inside)[outside].sum())
        return DirectSends(chunks * needs.collective.chunk_bytes, 1, 1)
    crossings = needs.wanted - held_inside
    # Who sends may be one of those inside who hold it in the end.
    circuits = needs.wanted - (held_inside > 0)
    counted = circuits > 0
    if not counted.any():
        return DirectSends(0, 0, 1)
    chunks = int(needs.chunks[counted].sum()) * int(rank_inside.sum())
    return DirectSends(
        chunks * needs.collective.chunk_bytes,
        int(crossings[counted].min()),
        int(circuits[counted].min()),
    )


def _holders(needs: CollectiveNeeds, rank_inside: Mask) -> IntArray:
    """Return how many of some ranks must hold each atom."""
    rows = rank_inside[needs.final.rank]
    change = np.zeros(len(needs.chunks) + 1, dtype=np.int64)
    np.add.at(change, needs.final.lo[rows], 1)
    np.add.at(change, needs.final.hi[rows], -1)
    held: IntArray = np.cumsum(change)[:-1]
    return held
