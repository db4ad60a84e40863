"""Lower bounds on the number of rounds, where a circuit carries one chunk a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.instances.collectives import op_of
from lightloom.validate.bounds.obligations import CollectiveNeeds, obligations
from lightloom.validate.bounds.rectangles import best_rectangle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath


@dataclass(frozen=True)
class RoundBound:
    """No schedule has fewer rounds, whatever its routes, and the reason why.

    Attributes
    ----------
    kind
        ``receive``, ``send``, ``growth``, ``volume`` or ``cut``.
    rounds
        The bound.
    nodes
        Witness: the node, or the node set, that it is about; all for ``volume``.
    reason
        The argument in words, with its numbers.
    """

    kind: str
    rounds: int
    nodes: tuple[int, ...]
    reason: str


def round_bound(fabric: Lightpath, collective: Collective) -> RoundBound:
    """Return the best bound, the first of equals in the order of `RoundBound.kind`.

    Parameters
    ----------
    fabric
        With at least one laser.
    collective
        Any collective whose chunk count is chosen.

    Notes
    -----
    Exact integers; O((rows cols)^2) for the cuts.
    """
    bounds = round_bounds(fabric, collective)
    return max(bounds, key=lambda bound: bound.rounds)


def round_bounds(fabric: Lightpath, collective: Collective) -> list[RoundBound]:
    """Return the best bound of every kind that has something to say."""
    needs = obligations(collective, fabric.node_count)
    assert isinstance(needs, CollectiveNeeds)
    size, lasers = collective.chunk_bytes, fabric.lasers
    return [
        *_ends(needs, size, lasers),
        _growth(needs, lasers),
        _volume(needs, collective, lasers),
        *_cut(fabric, needs, size),
    ]


def _ends(needs: CollectiveNeeds, size: int, lasers: int) -> Iterator[RoundBound]:
    """Yield what the photodiodes, and the lasers, of one node take."""
    for kind, by_node, parts in (
        ("receive", needs.received_bytes(), "photodiodes"),
        ("send", needs.sent_bytes(), "lasers"),
    ):
        most = max(by_node)
        chunks = most // size
        reason = f"it must {kind} {chunks} chunks with {lasers} {parts}"
        yield RoundBound(kind, -(-chunks // lasers), (by_node.index(most),), reason)


def _growth(needs: CollectiveNeeds, lasers: int) -> RoundBound:
    """Return how long one node's data take to spread, or others' to gather at it.

    In a round every node that knows passes it on to at most `lasers` others.
    """
    sides = needs.spread()
    most = max(max(side) for side in sides)
    side = next(side for side in sides if most in side)
    rounds, reached = 0, 1
    while reached < most:
        rounds, reached = rounds + 1, reached * (1 + lasers)
    reason = f"{most} nodes must share what it has, {1 + lasers}-fold more a round"
    return RoundBound("growth", rounds, (side.index(most),), reason)


def _volume(needs: CollectiveNeeds, collective: Collective, lasers: int) -> RoundBound:
    """Return how long all messages take where at first few have anything to send."""
    members = len(collective.nodes)
    senders = receivers = members
    if not op_of(collective).reduces:
        senders = sum(size > 0 for size in needs.sent_bytes())
        receivers = sum(size > 0 for size in needs.received_bytes())
    messages = needs.volume_bytes() // collective.chunk_bytes
    rounds, sent = 0, 0
    while sent < messages:
        sent += lasers * min(senders, receivers)
        senders = min(members, senders * (1 + lasers))
        rounds += 1
    reason = f"{messages} messages in all"
    return RoundBound("volume", rounds, tuple(sorted(collective.nodes)), reason)


def _cut(fabric: Lightpath, needs: CollectiveNeeds, size: int) -> Iterator[RoundBound]:
    """Yield what must enter a rectangle of tiles, or the rest of the grid."""
    inside = best_rectangle(fabric, needs)
    if inside is None:
        return
    tail, head = fabric.edges()
    enters = ~inside[tail] & inside[head]
    waveguides = int(fabric.edge_waveguides(tail[enters], head[enters]).sum())
    lanes = min(waveguides, int((inside & needs.members()).sum())) * fabric.lasers
    if not lanes:
        return
    chunks = needs.entering_bytes(inside) // size
    reason = f"{chunks} chunks must enter on {lanes} circuits at a time"
    nodes = tuple(np.flatnonzero(inside).tolist())
    yield RoundBound("cut", -(-chunks // lanes), nodes, reason)
