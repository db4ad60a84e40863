"""Collectives by name: one file each, found by walking this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective


@dataclass(frozen=True, eq=False)
class Holdings:
    """Who holds what: row i says that ``rank[i]`` has ``chunk_lo[i]:chunk_hi[i]``."""

    rank: IntArray
    chunk_lo: IntArray
    chunk_hi: IntArray


@dataclass(frozen=True)
class CollectiveOp:
    """A collective: a pre-condition and a post-condition over chunks.

    Each module here offers one as ``OP``. Before, the value of a chunk at a rank
    that holds it is {that rank}. After, it is {every rank} where the operation
    `reduces`, and the value it had at its only holder where it does not.

    Attributes
    ----------
    name
        Name, as in ``[collective] op``.
    reduces
        Whether values are combined.
    rooted
        Whether one rank is the root.
    uses_blocks
        Whether the number of ranks must divide the number of chunks.
    initial, final
        Pre- and post-condition of a collective, sorted by (rank, chunk).
    chunks_per_rank
        Whether every rank has C chunk ids of its own (nC in all), not C in all.
    """

    name: str
    reduces: bool
    rooted: bool
    uses_blocks: bool
    initial: Callable[[Collective], Holdings]
    final: Callable[[Collective], Holdings]
    chunks_per_rank: bool = False

    def chunk_total(self, collective: Collective) -> int:
        """Return the number of chunk ids."""
        owners = collective.rank_count if self.chunks_per_rank else 1
        return owners * collective.chunk_count


COLLECTIVES: Catalogue[CollectiveOp] = Catalogue(
    __name__, attribute="OP", noun="collective", group="lightloom.collectives"
)
"""Every collective, by name."""


def op_of(collective: Collective, where: str = "collective") -> CollectiveOp:
    """Return the operation of a collective.

    `where`: what a message calls the place of the collective; its key is added, as in
    ``collective.op``.

    Raises `InputError` if there is no such operation.
    """
    return COLLECTIVES.get(collective.op, f"{where}.op")


def check_collective(
    collective: Collective, node_count: int, where: str = "collective"
) -> None:
    """Raise if a collective makes no sense on a fabric of `node_count` nodes.

    Parameters
    ----------
    collective
        The collective; `Collective.nodes` lists the nodes that take part, rank 0 first.
    node_count
        Nodes of the fabric; those of the collective are 0 to ``node_count - 1``.
    where
        What a message calls the place of the collective; its key is added, as in
        ``collective.op``.

    Raises
    ------
    InputError
        Unknown operation; nodes repeated, out of range or none; a root outside
        the nodes or for an operation without; a buffer or chunk count that is not
        positive or does not divide as the operation needs.
    """
    op = op_of(collective, where)
    _check_nodes(collective, node_count, where)
    if collective.root is not None and not op.rooted:
        what = f"{op.name} has no root"
        raise InputError(what, where=f"{where}.root", fix="remove the key")
    if collective.root is not None and collective.root not in collective.nodes:
        what = "the root is not among the nodes"
        raise InputError(what, where=f"{where}.root", found=collective.root)
    size, ranks, chunks = (
        collective.buffer_bytes,
        collective.rank_count,
        collective.chunks,
    )
    if size < 1 or size >= 2**60:
        what, allowed = "buffer size not allowed", "1 to 2**60 - 1 bytes"
        raise InputError(
            what, where=f"{where}.buffer_bytes", found=size, allowed=allowed
        )
    if op.uses_blocks and size % ranks:
        fix = f"use {size // ranks * ranks or ranks} or {-(-size // ranks) * ranks}"
        what = f"{op.name} over {ranks} nodes needs a buffer that {ranks} divides"
        raise InputError(what, where=f"{where}.buffer_bytes", found=size, fix=fix)
    if chunks is None:
        return
    if chunks < 1 or size % chunks:
        what = f"chunks must divide buffer_bytes = {size}"
        allowed = f"a divisor of {size}, at most {size}"
        raise InputError(what, where=f"{where}.chunks", found=chunks, allowed=allowed)
    if op.uses_blocks and chunks % ranks:
        what = f"{op.name} needs a number of chunks that its {ranks} nodes divide"
        fix = f"use a multiple of {ranks} that divides {size}"
        raise InputError(what, where=f"{where}.chunks", found=chunks, fix=fix)


def _check_nodes(collective: Collective, node_count: int, where: str) -> None:
    nodes = np.array(collective.nodes, dtype=np.int64)
    if not len(nodes):
        what, allowed = "no nodes", "at least one"
        raise InputError(what, where=f"{where}.nodes", allowed=allowed)
    outside = nodes[(nodes < 0) | (nodes >= node_count)]
    if len(outside):
        raise InputError(
            "node outside the fabric",
            where=f"{where}.nodes",
            found=int(outside[0]),
            allowed=f"0 to {node_count - 1}",
        )
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        repeated = int(values[counts > 1][0])
        raise InputError("node repeated", where=f"{where}.nodes", found=repeated)
