"""A collective by the four steps of RAMP: its phases, and what is sent in each.

A reduce-scatter narrows: every node keeps the information of its portion, step by step,
and sends the other portions to those who take them. An all-gather widens, with the
steps reversed. Rooted operations do the same along the tree that leads from the root
to everyone; all-reduce and reduce are a reduce-scatter, then an all-gather or a gather
(RAMP paper, section 6.1.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.instances.collectives import op_of
from lightloom.plans.plan import Partition
from lightloom.synth.ramp.node_box import MOST_ROWS
from lightloom.synth.ramp.team import per_pair, transceivers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.ramp.node_box import Followed
    from lightloom.synth.ramp.team import Team


@dataclass(frozen=True, eq=False)
class Blocks:
    """The buffer in one block for each member.

    Where the operation gives blocks to ranks, member i has the block of its rank;
    elsewhere it has the i-th block, so that blocks of a subgroup lie together.

    `rank`: rank of each member in the collective.
    """

    team: Team
    rank: IntArray
    block: IntArray
    chunks: int

    @classmethod
    def of(cls, team: Team, collective: Collective) -> Blocks:
        """Return the blocks of a collective whose chunk count is chosen.

        `collective`: the collective; rank i is ``collective.nodes[i]``.
        """
        place = np.full(team.fabric.node_count, -1, dtype=np.int64)
        place[list(collective.nodes)] = np.arange(len(team))
        rank = place[team.nodes]
        block = np.arange(len(team), dtype=np.int64)
        if op_of(collective).uses_blocks:
            block = rank
        return cls(team, rank, block, collective.chunk_count)

    def runs(self, width: int) -> tuple[Ragged, Ragged]:
        """Return the chunk ranges of every `width` members, first chunks and ends.

        Row i is about members ``i width .. (i + 1) width``: as few ranges as there
        can be, sorted, none empty.
        """
        partition = Partition(len(self.team), self.chunks)
        rows = np.sort(self.block.reshape(-1, width), axis=1)
        first = partition.boundary(rows)
        end = partition.boundary(rows + 1)
        starts = np.ones(rows.shape, dtype=np.bool_)
        starts[:, 1:] = first[:, 1:] != end[:, :-1]
        ends = np.ones(rows.shape, dtype=np.bool_)
        ends[:, :-1] = starts[:, 1:]
        lo, hi = first[starts], end[ends]
        row = np.nonzero(starts)[0][lo < hi]
        lengths = np.bincount(row, minlength=len(rows)).astype(np.int64)
        lo, hi = lo[lo < hi], hi[lo < hi]
        return Ragged.from_lengths(lengths, lo), Ragged.from_lengths(lengths, hi)


Event: TypeAlias = Segment | StepPart


@dataclass(frozen=True, eq=False)
class TeamCollective:
    """A collective for a team.

    `collective`: what, its chunk count chosen.
    """

    team: Team
    collective: Collective
    exchange: bool = False

    def phases(self, member: int | None = None) -> Iterator[Phase]:
        """Yield the phases, of one member or all."""
        op, root = self.collective.op, self.root
        yield from phases(self.team, op, root, exchange=self.exchange, member=member)

    @property
    def root(self) -> int:
        """Member at the root, the first rank where the operation has none."""
        node = self.collective.nodes[self.collective.root_rank]
        return int(np.flatnonzero(self.team.nodes == node)[0])

    def events(self) -> Iterator[Event]:
        """Yield the segments, and the steps in them, in the order of a file.

        A step of an all-to-all comes in parts of about `MOST_ROWS` rows; memory is that
        of the largest.
        """
        blocks = Blocks.of(self.team, self.collective)
        yield from self._moving(blocks, AllItems.at_home(blocks))

    def followed(self, sources: IntArray, targets: IntArray) -> Followed:
        """Return the first chunks of some blocks of an all-to-all, and their events.

        `sources`, `targets`: ranks that the blocks go from and to, all pairs different,
        shape (blocks,) each.
        """
        blocks = Blocks.of(self.team, self.collective)
        member = np.argsort(blocks.rank)
        items = SomeItems.at_home(blocks, member[sources], member[targets])
        return items.chunk, self._moving(blocks, items)

    def _moving(self, blocks: Blocks, items: AllItems | SomeItems) -> Iterator[Event]:
        """Yield segments and steps in which items move, where there are any."""
        key, segment = None, -1
        for index, phase in enumerate(self.phases()):
            if phase.key != key:
                key, segment = phase.key, segment + 1
                yield Segment(0, segment, circuits(self.team, phase))
            if phase.content is Content.ITEMS:
                parts = items.rows(phase)
                items = items.after(phase)
            else:
                parts = iter([rows_of(blocks, phase)])
            for rows in parts:
                yield StepPart(index, 0, segment, _transfers(self.team, phase, rows))


def circuits(team: Team, phase: Phase) -> Circuits:
    """Return the circuits of a phase: one for each pair and transceiver, by pair."""
    src, dst = team.at(phase.src), team.at(phase.dst)
    transceivers = team.fabric.groups
    used = transceivers_of(transceivers, team.shape, phase.step, src, dst)
    count = per_pair(transceivers, team.shape, phase.step)
    return Circuits(
        np.repeat(team.nodes[phase.src], count),
        np.repeat(team.nodes[phase.dst], count),
        transceiver=used.reshape(-1),
    )


def rows_of(blocks: Blocks, phase: Phase) -> Rows:
    """Return what is sent in a phase: (source, destination, first chunk, end)."""
    team = blocks.team
    if phase.content is Content.WHOLE:
        none = np.zeros(len(phase.src), dtype=np.int64)
        return phase.src, phase.dst, none, none + blocks.chunks
    width = team.width(phase.step)
    lo, hi = blocks.runs(width)
    narrow = phase.content is Content.NARROW
    prefix = (phase.dst if narrow else phase.src) // width
    first, end = lo.take(prefix), hi.take(prefix)
    pair = first.row_of_value
    return phase.src[pair], phase.dst[pair], first.values, end.values


def _transfers(team: Team, phase: Phase, rows: Rows) -> Transfers:
    src, dst, lo, hi = rows
    op: IntArray = np.full(len(src), int(phase.op), dtype=np.int64)
    return Transfers(team.nodes[src], team.nodes[dst], lo, hi, op)


class Content(StrEnum):
    """What a pair sends in a phase."""

    NARROW = "narrow"
    """What the destination will have a portion of: its digits up to the step."""
    WIDEN = "widen"
    """What the source has gathered: its digits up to the step."""
    WHOLE = "whole"
    """The whole buffer."""
    ITEMS = "items"
    """Of each source whose data are here, what the destination will have."""


@dataclass(frozen=True, eq=False)
class Phase:
    """One step of a collective.

    `step`: step of RAMP, 1 to 4. `content`, `op`: what pairs send, and what happens to
    it at the destination. `src`, `dst`: members at the ends of each pair, shape
    (pairs,). `key`: equal for phases with the same pairs.
    """

    step: int
    content: Content
    op: Op
    src: IntArray
    dst: IntArray
    key: tuple[int, str, int]


class Sweep(StrEnum):
    """All active steps, one after another."""

    REDUCE = "reduce"
    """Narrow, ascending, sums."""
    SPREAD = "spread"
    """Widen, descending."""
    DELIVER = "deliver"
    """Items, ascending."""
    DEAL = "deal"
    """Narrow, ascending, along the tree from the root."""
    COLLECT = "collect"
    """Widen, descending, along that tree to the root."""
    AGREE = "agree"
    """Whole buffers, ascending, sums."""


_SWEEPS = {
    "all-gather": (Sweep.SPREAD,),
    "all-reduce": (Sweep.REDUCE, Sweep.SPREAD),
    "all-to-all": (Sweep.DELIVER,),
    "broadcast": (Sweep.DEAL, Sweep.SPREAD),
    "gather": (Sweep.COLLECT,),
    "reduce": (Sweep.REDUCE, Sweep.COLLECT),
    "reduce-scatter": (Sweep.REDUCE,),
    "scatter": (Sweep.DEAL,),
}
_CONTENT = {
    Sweep.REDUCE: (Content.NARROW, Op.REDUCE),
    Sweep.SPREAD: (Content.WIDEN, Op.COPY),
    Sweep.DELIVER: (Content.ITEMS, Op.COPY),
    Sweep.DEAL: (Content.NARROW, Op.COPY),
    Sweep.COLLECT: (Content.WIDEN, Op.COPY),
    Sweep.AGREE: (Content.WHOLE, Op.REDUCE),
}


def phases(
    team: Team, op: str, root: int, *, exchange: bool = False, member: int | None = None
) -> Iterator[Phase]:
    """Yield the phases of a collective.

    `exchange`: of an all-reduce: whether everyone sends all it has to its subgroup, in
    half as many phases, which is best for little data and is how a barrier is done.
    """
    for sweep in (Sweep.AGREE,) if exchange else _SWEEPS[op]:
        rooted = sweep in (Sweep.DEAL, Sweep.COLLECT)
        holders = _holders(team, root) if rooted else {}
        descending = sweep in (Sweep.SPREAD, Sweep.COLLECT)
        content, does = _CONTENT[sweep]
        for step in team.steps[::-1] if descending else team.steps:
            src, dst = _pairs(team, step, holders.get(step), member)
            if sweep is Sweep.COLLECT:
                src, dst = dst, src
            key = (step, sweep if rooted else "", root if rooted else 0)
            yield Phase(step, content, does, src, dst, key)


def _pairs(
    team: Team, step: int, senders: IntArray | None, member: int | None = None
) -> tuple[IntArray, IntArray]:
    """Return senders, by default all, and each of their peers, sender by sender."""
    everyone = np.arange(len(team), dtype=np.int64)
    offset = np.arange(1, team.shape.members(step), dtype=np.int64)
    if member is not None:
        own = np.full(len(offset), member, dtype=np.int64)
        everyone = np.append(team.peers(step, own, offset), member)
    if senders is None:
        senders = everyone
    elif member is not None:
        senders = everyone[np.isin(everyone, senders)]
    src = np.repeat(senders, len(offset))
    dst = team.peers(step, src, np.tile(offset, len(senders)))
    if member is not None:
        mine = (src == member) | (dst == member)
        src, dst = src[mine], dst[mine]
    return src, dst


def _holders(team: Team, root: int) -> dict[int, IntArray]:
    """Return who holds data of the root before each step, sorted."""
    reached = np.array([root], dtype=np.int64)
    holders = {}
    for step in team.steps:
        holders[step] = reached
        _, more = _pairs(team, step, reached)
        reached = np.sort(np.concatenate([reached, more]))
    return holders


Rows = tuple["IntArray", "IntArray", "IntArray", "IntArray"]
"""Source member, destination member, first chunk, end."""


@dataclass(frozen=True, eq=False)
class AllItems:
    """All items; those of a source lie together.

    `origins`: members whose items each member has, shape (members, origins).
    """

    blocks: Blocks
    origins: IntArray

    @classmethod
    def at_home(cls, blocks: Blocks) -> AllItems:
        """Return the items before they are sent."""
        return cls(blocks, np.arange(len(blocks.team), dtype=np.int64)[:, None])

    def rows(self, phase: Phase) -> Iterator[Rows]:
        """Yield what is sent in a phase, about `MOST_ROWS` rows at a time.

        Those of one pair are never divided.
        """
        team = self.blocks.team
        lo, hi = self.blocks.runs(team.width(phase.step))
        prefix = phase.dst // team.width(phase.step)
        each = self.origins.shape[1] * int(lo.lengths.max(initial=1))
        size = max(1, MOST_ROWS // each)
        for start in range(0, len(phase.src), size):
            pair = np.arange(start, min(start + size, len(phase.src)))
            origin = self.origins[phase.src[pair]]
            pair = np.repeat(pair, origin.shape[1])
            base = self.blocks.rank[origin.reshape(-1)] * self.blocks.chunks
            first, end = lo.take(prefix[pair]), hi.take(prefix[pair])
            row = first.row_of_value
            pair, base = pair[row], base[row]
            yield (
                phase.src[pair],
                phase.dst[pair],
                base + first.values,
                base + end.values,
            )

    def after(self, phase: Phase) -> AllItems:
        """Return the items after a phase."""
        team = self.blocks.team
        everyone = np.arange(len(team), dtype=np.int64)
        offsets = range(team.shape.members(phase.step))
        origins = [
            self.origins[team.peers(phase.step, everyone, offset)] for offset in offsets
        ]
        return AllItems(self.blocks, np.concatenate(origins, axis=1))


@dataclass(frozen=True, eq=False)
class SomeItems:
    """Some items, one by one, where all would be too many.

    `blocks`: what the items are; a block is not empty. `origin`, `target`: members that
    have an item first and last, shape (items,).
    """

    blocks: Blocks
    origin: IntArray
    target: IntArray
    here: IntArray

    @classmethod
    def at_home(cls, blocks: Blocks, origin: IntArray, target: IntArray) -> SomeItems:
        """Return items before they are sent.

        `origin`, `target`: members that each item goes from and to, shape (items,).
        """
        return cls(blocks, origin, target, origin)

    @property
    def chunk(self) -> IntArray:
        """First chunk of each item."""
        lo, _ = self.blocks.runs(1)
        return (
            self.blocks.rank[self.origin] * self.blocks.chunks
            + lo.values[lo.offsets[self.target]]
        )

    def rows(self, phase: Phase) -> Iterator[Rows]:
        """Yield what is sent in a phase."""
        _, end = self.blocks.runs(1)
        there = self._next(phase)
        away = np.flatnonzero(there != self.here)
        base = self.blocks.rank[self.origin[away]] * self.blocks.chunks
        last = base + end.values[end.offsets[self.target[away]]]
        yield self.here[away], there[away], self.chunk[away], last

    def after(self, phase: Phase) -> SomeItems:
        """Return the items after a phase."""
        return SomeItems(self.blocks, self.origin, self.target, self._next(phase))

    def _next(self, phase: Phase) -> IntArray:
        team = self.blocks.team
        size = team.shape.members(phase.step)
        width = team.width(phase.step)
        offset = (self.target // width - self.here // width) % size
        return team.peers(phase.step, self.here, offset)
