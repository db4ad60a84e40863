"""The deliveries of a copying collective: who has which chunk, and who lacks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective
from lightloom.instances.collectives import check_collective, op_of
from lightloom.instances.fabrics.lightpath import Lightpath

if TYPE_CHECKING:
    from lightloom.instances.collectives import Holdings
    from lightloom.instances.instance import Instance


@dataclass(frozen=True)
class Deliveries:
    """What Algorithm 1 calls Pre and Post, in nodes.

    `collective`: the collective, its chunk count chosen. `holders`: ``Pre(c)``: the
    nodes that have chunk c from the start, by chunk, sorted. Chunks that nobody lacks
    are left out. `lacking`: ``Post(c)`` without ``Pre(c)``: the nodes that must still
    receive it, sorted.
    """

    collective: Collective
    holders: dict[int, tuple[int, ...]]
    lacking: dict[int, tuple[int, ...]]

    @property
    def one_hop(self) -> bool:
        """Whether nobody can pass anything on: every chunk has one destination."""
        return all(len(nodes) == 1 for nodes in self.lacking.values())

    def senders(self, chunk: int) -> tuple[int, ...]:
        """Return who may ever send a chunk: its holders and its receivers."""
        return tuple(sorted((*self.holders[chunk], *self.lacking[chunk])))

    def pairs(self) -> list[tuple[int, int]]:
        """Return every (source, destination) that may send something, sorted."""
        return sorted(
            {
                (src, dst)
                for chunk, nodes in self.lacking.items()
                for src in self.senders(chunk)
                for dst in nodes
                if src != dst
            }
        )


_REVERSAL_OF = {"reduce": "broadcast"}
"""The operation that is its time reversal; all-gather for those that are not listed."""


def copy_question(instance: Instance) -> tuple[Lightpath, Deliveries]:
    """Return the fabric and the deliveries of an instance of Algorithm 1.

    Where the collective has no chunk count yet it gets the smallest: one chunk a
    block, or one chunk where there are no blocks.

    Raises `InputError` if the instance is no copying collective on a LIGHTPATH fabric;
    `InfeasibleError` if something must be sent and the tiles have no lasers.
    """
    fabric, task = instance.fabric, instance.task
    if not isinstance(fabric, Lightpath):
        what, allowed = "the model is about light paths", "lightpath"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed=allowed)
    if not isinstance(task, Collective):
        what = "the model moves chunks of a collective"
        raise InputError(what, where=instance.name, fix="give a [collective]")
    op = op_of(task)
    if op.reduces:
        raise InputError(
            "the model copies data, it does not reduce them",
            where="collective.op",
            found=task.op,
            allowed="operations that copy",
            fix=f"--set collective.op={_REVERSAL_OF.get(task.op, 'all-gather')}: its"
            " rounds, with time and arcs turned around, reduce",
        )
    if task.chunks is None:
        chunks = task.rank_count if op.uses_blocks else 1
        task = msgspec.structs.replace(task, chunks=chunks)
    check_collective(task, fabric.node_count)
    before = _by_chunk(op.initial(task), task)
    after = _by_chunk(op.final(task), task)
    lacking = {c: sorted(set(after[c]) - set(before.get(c, ()))) for c in sorted(after)}
    lacking = {chunk: nodes for chunk, nodes in lacking.items() if nodes}
    if lacking and not fabric.lasers:
        what = "nothing can be sent: the tiles have no lasers"
        raise InfeasibleError(what, where="fabric.lasers", found=0)
    return fabric, Deliveries(
        task,
        {chunk: tuple(before[chunk]) for chunk in lacking},
        {chunk: tuple(nodes) for chunk, nodes in lacking.items()},
    )


def _by_chunk(holdings: Holdings, collective: Collective) -> dict[int, list[int]]:
    """Return the nodes of each chunk, sorted."""
    nodes: dict[int, list[int]] = {}
    for rank, lo, hi in zip(
        holdings.rank.tolist(),
        holdings.chunk_lo.tolist(),
        holdings.chunk_hi.tolist(),
        strict=True,
    ):
        for chunk in range(lo, hi):
            nodes.setdefault(chunk, []).append(collective.nodes[rank])
    return {chunk: sorted(held) for chunk, held in nodes.items()}
