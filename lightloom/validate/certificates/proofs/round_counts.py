"""Rounds: what no schedule can undercut, where a circuit carries one chunk a round.

A *round* is a step in one segment in which a circuit (one wavelength of a pair) moves
one chunk at most. So a tile sends and receives at most one chunk a laser and round, and
what enters a node set is limited by the circuits that can cross into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.columns import distinct
from lightloom.instances.collectives import op_of
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.proofs.direct_sends import direct_sends
from lightloom.validate.certificates.proofs.middle_round import crowded_middle
from lightloom.validate.certificates.witness import (
    WitnessError,
    keys,
    node_mask,
    number,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath


@dataclass(frozen=True)
class RoundProof:
    """What a witness proves.

    `reason`: the argument in words, with its numbers.
    """

    rounds: int
    reason: str


def prove_rounds(
    fabric: Lightpath, collective: Collective, kind: str, witness: Witness
) -> RoundProof:
    """Return how many rounds a witness proves, whatever the routes.

    `witness`: ``receive``, ``send``: a ``node``. ``growth``: a ``node`` and a
    ``direction``, 0 for what it must reach, 1 for what it must hear of. ``volume``,
    ``middle``: nothing. ``cut``, ``direct``: a set ``nodes``.

    Raises `WitnessError` if it is no witness of its kind, or nothing can ever be sent.

    Integers alone; O(chunk ranges + edges).
    """
    needs = requirements_of(collective, fabric.node_count)
    assert isinstance(needs, CollectiveNeeds)
    if not fabric.lasers and needs.volume_bytes():
        message = "the fabric carries nothing"
        raise WitnessError(message)
    return _PROOFS[kind](_Question(fabric, collective, needs), witness)


@dataclass(frozen=True, eq=False)
class _Question:
    """What the proofs ask."""

    fabric: Lightpath
    collective: Collective
    needs: CollectiveNeeds

    def chunks(self, size_bytes: int) -> int:
        """Return bytes of the buffer as chunks."""
        return size_bytes // self.collective.chunk_bytes


def _receive(question: _Question, witness: Witness) -> RoundProof:
    due = question.needs.received_bytes()
    return _end(question, witness, due, "receive", "photodiodes")


def _send(question: _Question, witness: Witness) -> RoundProof:
    return _end(question, witness, question.needs.sent_bytes(), "send", "lasers")


def _end(
    question: _Question, witness: Witness, due: list[int], does: str, parts: str
) -> RoundProof:
    """Return what the lasers, or photodiodes, of one tile take."""
    keys(witness, "node")
    lasers = question.fabric.lasers
    # Without lasers there is nothing to send.
    chunks = question.chunks(due[number(witness, "node", len(due))])
    reason = f"it must {does} {chunks} chunks with {lasers} {parts}"
    return RoundProof(-(-chunks // max(lasers, 1)), reason)


def _growth(question: _Question, witness: Witness) -> RoundProof:
    """Return how long one tile's data take to spread, or others' to gather at it.

    In a round every tile that knows passes it on to one other a laser.
    """
    keys(witness, "node", "direction")
    side = question.needs.spread()[number(witness, "direction", 2)]
    most = side[number(witness, "node", len(side))]
    fold = 1 + question.fabric.lasers
    rounds, reached = 0, 1
    while reached < most:
        rounds, reached = rounds + 1, reached * fold
    reason = f"{most} nodes must share what it has, {fold}-fold more a round"
    return RoundProof(rounds, reason)


def _volume(question: _Question, witness: Witness) -> RoundProof:
    """Return how long all messages take where few can send first, or receive last.

    Counted are the messages of `CollectiveNeeds.volume_bytes`. Without reduction they
    bring a rank what it must hold: only ranks that have, or were sent, something can
    send them, and only ranks that lack something receive them. With reduction they
    bring contributions on their way: in the last round to a rank that holds a result,
    before it to one that can still pass them on to such a rank, and so on backwards.
    """
    keys(witness)
    needs, lasers = question.needs, question.fabric.lasers
    members = len(question.collective.nodes)
    receivers = members
    if op_of(question.collective).reduces:
        # Backwards, who can receive grows as who can send does forwards.
        senders = len(distinct(needs.final.rank[needs.final.hi > needs.final.lo]))
    else:
        senders = sum(size > 0 for size in needs.sent_bytes())
        receivers = sum(size > 0 for size in needs.received_bytes())
    messages = question.chunks(needs.volume_bytes())
    rounds, sent = 0, 0
    while sent < messages:
        sent += lasers * min(senders, receivers)
        senders = min(members, senders * (1 + lasers))
        rounds += 1
    return RoundProof(rounds, f"{messages} messages in all")


def _cut(question: _Question, witness: Witness) -> RoundProof:
    """Return how long what must enter a node set takes to cross into it."""
    keys(witness, "nodes")
    fabric, needs = question.fabric, question.needs
    inside = node_mask(witness, "nodes", fabric.node_count)
    tail, head = fabric.edges()
    enters = ~inside[tail] & inside[head]
    waveguides = int(fabric.edge_waveguides(tail[enters], head[enters]).sum())
    lanes = min(waveguides, int((inside & needs.members()).sum())) * fabric.lasers
    chunks = question.chunks(needs.entering_bytes(inside))
    if chunks and not lanes:
        message = "data must enter the set, but no waveguide does"
        raise WitnessError(message)
    reason = f"{chunks} chunks must enter on {lanes} circuits at a time"
    return RoundProof(-(-chunks // max(lanes, 1)), reason)


def _direct(question: _Question, witness: Witness) -> RoundProof:
    """Return how long a node set's traffic takes where one round forwards nothing.

    Without reduction nothing is forwarded in the first round, so what starts outside
    the set crosses into it then, a circuit for each chunk and node. With reduction it
    is the last round: what a node sends there for the first time goes to all who must
    hold it. In other rounds a node receives, and sends, a chunk a laser.
    """
    keys(witness, "nodes")
    fabric, needs = question.fabric, question.needs
    inside = node_mask(witness, "nodes", fabric.node_count)
    tail, head = fabric.edges()
    crosses = inside[tail] & ~inside[head]
    if not needs.reduces:
        crosses = inside[head] & ~inside[tail]
    waveguides = int(fabric.edge_waveguides(tail[crosses], head[crosses]).sum())
    members = needs.members()
    within, beyond = int((members & inside).sum()), int((members & ~inside).sum())
    sends = direct_sends(needs, inside)
    chunks, lasers = question.chunks(sends.size_bytes), fabric.lasers
    at_once = within * lasers // sends.circuits
    if sends.crossings:
        border = min(waveguides, within, beyond) * lasers
        at_once = min(at_once, border // sends.crossings)
    left = max(chunks - at_once, 0)
    rounds = bool(chunks) - (-left // max(within * lasers, 1))
    reason = f"{chunks} chunks, {at_once} at most in the round that forwards nothing"
    return RoundProof(rounds, reason)


def _middle(question: _Question, witness: Witness) -> RoundProof:
    """Return how long an all-reduce takes whose middle round has too little room."""
    keys(witness)
    ranks, lasers = question.collective.rank_count, question.fabric.lasers
    chunks = question.collective.chunk_count
    rounds = 0
    if question.collective.op == "all-reduce":
        rounds = crowded_middle(ranks, lasers, chunks)
    if not rounds:
        message = "what passes through the middle round proves nothing here"
        raise WitnessError(message)
    reason = f"{chunks} chunks of {ranks} tiles do not fit through a middle round"
    return RoundProof(rounds, reason)


_PROOFS: dict[str, Callable[[_Question, Witness], RoundProof]] = {
    "receive": _receive,
    "send": _send,
    "growth": _growth,
    "volume": _volume,
    "cut": _cut,
    "direct": _direct,
    "middle": _middle,
}
KINDS = tuple(_PROOFS)
"""Every kind of argument."""
