"""The segments and steps of a collective on RAMP, in the order of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import Segment, StepPart, Transfers
from lightloom.synth.ramp.all_to_all_items import AllItems
from lightloom.synth.ramp.held_blocks import Blocks
from lightloom.synth.ramp.step_phases import Content, phases
from lightloom.synth.ramp.transceivers import per_pair, transceivers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.ramp.all_to_all_items import Rows, SomeItems
    from lightloom.synth.ramp.participants import Team
    from lightloom.synth.ramp.step_phases import Phase

Event: TypeAlias = Segment | StepPart

NO_LIMIT = 2**62


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


def stream(
    job: TeamCollective, *, items: SomeItems | None = None, most_rows: int = NO_LIMIT
) -> Iterator[Event]:
    """Yield the segments, and the steps in them, in the order of a file.

    `most_rows`: a step of an all-to-all comes in parts of about so many rows.

    Deterministic. Memory is that of the largest step.
    """
    blocks = Blocks.of(job.team, job.collective)
    followed: AllItems | SomeItems = items or AllItems.at_home(blocks)
    key, segment = None, -1
    for index, phase in enumerate(job.phases()):
        if phase.key != key:
            key, segment = phase.key, segment + 1
            yield Segment(0, segment, circuits(job.team, phase))
        if phase.content is Content.ITEMS:
            parts = followed.rows(phase, most_rows)
            followed = followed.after(phase)
        else:
            parts = iter([rows_of(blocks, phase)])
        for rows in parts:
            yield StepPart(index, 0, segment, _transfers(job.team, phase, rows))


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
