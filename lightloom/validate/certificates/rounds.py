"""Rounds: steps of a schedule in which a circuit carries one chunk at most.

A *round* is a step in one segment in which a circuit (one wavelength of a pair) moves
one chunk at most. So a tile sends and receives at most one chunk a laser and round, and
what enters a node set is limited by the circuits that can cross into it.

**The middle round of an all-reduce**, and what must pass through it at once.

Of one chunk, let n ranks, s rounds before the middle one and s after it. Let a tiles
send nothing of it before the middle round, and b tiles receive nothing of it after: m1
>= n - a messages before, m3 >= n - b after. What one of the a has must reach each of
the b in the middle round directly, so m2 >= ab - min(a, b).

**Sends that cannot be forwarded**: those of a round that is the first, or the last.

In the first round a chunk can only come from where it was from the start. With time
turned around, what a node sends first in the last round goes to whoever must hold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lightloom.core.columns import distinct
from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    requirements_of,
)
from lightloom.validate.certificates.witness import (
    InapplicableError,
    Objective,
    WitnessError,
    keys,
    node_mask,
    number,
    require,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Number, Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, Segment
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.completion_time.requirements import Mask


@dataclass(frozen=True)
class RoundsQuestion:
    """Fewest rounds of a collective, its chunk count chosen, on a grid."""

    fabric: Lightpath
    collective: Collective

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of `lightloom.validate.certificates.rounds`."""
        return tuple(sorted(KINDS))

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`."""
        proof = prove_rounds(self.fabric, self.collective, kind, witness)
        require(bound, proof.rounds)


def measure(fabric: AnyFabric, schedule: Schedule) -> tuple[RoundsQuestion, int]:
    """Return the question, and the steps of a schedule that is in rounds.

    Raises `InapplicableError` if it is of no collective on a grid, a step uses several
    segments, or a circuit carries more than one chunk in a step.
    """
    task = schedule.task
    if not isinstance(fabric, Lightpath) or not isinstance(task, Collective):
        message = "rounds are those of a collective on light paths"
        raise InapplicableError(message)
    for one, other in pairwise(schedule.parts):
        if one.index == other.index:
            message = f"step {one.index} uses several segments, so it is not a round"
            raise InapplicableError(message)
    nodes = fabric.node_count
    lit = {
        (segment.plane, segment.index): _circuits(segment, nodes)
        for segment in schedule.segments
    }
    for part in schedule.parts:
        assert part.plane is not None
        assert part.segment is not None
        transfers = part.transfers
        assert not isinstance(transfers, FluidTransfers)
        moved = _by_pair(
            transfers.src * nodes + transfers.dst,
            transfers.chunk_hi - transfers.chunk_lo,
        )
        pairs, circuits = lit[part.plane, part.segment]
        there = circuits[np.searchsorted(pairs, moved[0])]
        for row in np.flatnonzero(moved[1] > there)[:1].tolist():
            src, dst = divmod(int(moved[0][row]), nodes)
            message = (
                f"step {part.index} moves {moved[1][row]} chunks from {src} to {dst}"
                f" on {there[row]} circuits, so it is not a round"
            )
            raise InapplicableError(message)
    return RoundsQuestion(fabric, task), schedule.step_count


def _circuits(segment: Segment, nodes: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of a segment, sorted, and the wavelengths of each."""
    circuits = segment.circuits
    pair = circuits.src * nodes + circuits.dst
    return _by_pair(pair, circuits.lists("wavelengths").lengths)


def _by_pair(pair: IntArray, amount: IntArray) -> tuple[IntArray, IntArray]:
    """Return distinct pairs, sorted, and the sum of each."""
    distinct, place = np.unique(pair, return_inverse=True)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, place, amount)
    return distinct, total


OBJECTIVE = Objective("rounds", largest=False, measure=measure)


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


def crowded_middle(ranks: int, lasers: int, chunks: int) -> int:
    """Return rounds that every all-reduce needs, or 0 where the middle one has room.

    `ranks`, `lasers`: tiles that take part, and lasers of each.

    *Three rounds*, L < n - 1, so that no tile knows all after one round, and none that
    first sends in the last round can reach all. So each of the b receives in the middle
    round, and each of the a sends: m2 >= max(a, b). If L <= n - 3, m1 + m2 + m3 is at
    least 2n - 4 + b: for b = 0 as m1 + m2 >= n; for a >= 2 by m2 >= ab - min(a, b);
    else m1 >= n - 1, and if t of the b receive one message in the middle round only, m2
    >= 2b - t. That is enough for t <= 3. Each of the t and the one it hears from have
    received n - 2 messages together, so all but two of the t have n - 2 - L each, and
    m1 >= n - 4 + t. With time turned around a stands for b. So 2 m1 + m2 + 2 m3 of a
    chunk is at least the least value over a and b, and of all chunks at most 5 L n.

    *2s + 1 rounds with no laser to spare*, C (2n - 2) = (2s + 1) L n for C chunks, and
    2 (1 + L)^(s - 1) < n. Each chunk takes 2n - 2 messages at least, so just as many.
    Let k tiles be the first that know all, after the same round. Until then it takes n
    - 1 messages for k = 1, and else n - 2 + k or more, no more only if two tiles that
    sent nothing before exchange what they have; then each other tile receives once.
    Nobody knows all after s - 1 rounds, nor do two tiles together, and those who know
    all at last cannot be told by two tiles in s - 1 rounds. So a chunk has one root,
    which knows all just before or just after the middle round, or two tiles that
    exchange in it. In the middle round, only the root sends in the first case, and only
    the root receives in the second. Each tile lacks at most s L chunks after it; it
    receives at most L in it. So a root that receives sums receives at most (s + 1) L -
    C more than it is root of chunks, and so does one that sends results send. With e
    chunks that are exchanged, at least n (C - s L) - C - e messages each are such sums
    and such results, and at most ((s + 1) L - C + 2) (C - e) together.
    """
    three = (
        lasers < ranks - 1
        and fewest_around_middle(ranks, lasers) * chunks > 5 * lasers * ranks
    )
    return max(4 * three, _tight(ranks, lasers, chunks))


def _tight(ranks: int, lasers: int, chunks: int) -> int:
    """Return rounds that are needed where fewer would leave no laser to spare, or 0."""
    rounds, spare = divmod(chunks * (2 * ranks - 2), lasers * ranks)
    half = rounds // 2
    if spare or rounds % 2 == 0 or half == 0 or 2 * (1 + lasers) ** (half - 1) >= ranks:
        return 0
    least = ranks * (chunks - half * lasers) - chunks
    more = max((half + 1) * lasers - chunks, 0)
    fits = any(
        2 * (least - pairs) <= (more + 2) * (chunks - pairs) for pairs in (0, chunks)
    )
    return 0 if fits else rounds + 1


def fewest_around_middle(ranks: int, lasers: int) -> int:
    """Return what 2 m1 + m2 + 2 m3 of a chunk is at least, over all a and b.

    `ranks`, `lasers`: tiles that take part, and lasers of each.
    """
    values = []
    # For a >= 3, 4n - 3a + b (a - 2) is least for a = b = 3.
    for a in range(min(ranks, 3) + 1):
        for b in range(a, ranks + 1):
            outside = 2 * ranks - a - b
            whole = outside + max(b, a * b - a)
            if lasers <= ranks - 3:
                whole = max(whole, 2 * ranks - 4 + b)
            values.append(whole + outside)
    return min(values)


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
    held_inside = needs.holders(rank_inside)
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
