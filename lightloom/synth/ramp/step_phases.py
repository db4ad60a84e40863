"""The steps of a collective on RAMP in order, and what is sent in each.

A reduce-scatter narrows: every node keeps the information of its portion, step by step,
and sends the other portions to those who take them. An all-gather widens, with the
steps reversed. Rooted operations do the same along the tree that leads from the root
to everyone; all-reduce and reduce are a reduce-scatter, then an all-gather or a gather
(RAMP paper, section 6.1.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.synth.ramp.participants import Team


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
