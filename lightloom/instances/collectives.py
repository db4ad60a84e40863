"""Collectives by name: who holds what before, and who is to hold what after."""

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

    Before, the value of a chunk at a rank
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


# -- who holds what ------------------------------------------------------------------


def everyone_everything(collective: Collective) -> Holdings:
    """Every rank holds every chunk."""
    rank = np.arange(collective.rank_count, dtype=np.int64)
    return Holdings(
        rank, np.zeros_like(rank), np.full_like(rank, collective.chunk_count)
    )


def everyone_own_block(collective: Collective) -> Holdings:
    """Rank i holds block i: chunks iC/n to (i+1)C/n."""
    rank = np.arange(collective.rank_count, dtype=np.int64)
    block = collective.chunk_count // collective.rank_count
    return Holdings(rank, rank * block, (rank + 1) * block)


def root_everything(collective: Collective) -> Holdings:
    """Only the root holds chunks, all of them."""
    rank = np.array([collective.root_rank], dtype=np.int64)
    return Holdings(
        rank, np.zeros_like(rank), np.full_like(rank, collective.chunk_count)
    )


def _own_buffer(collective: Collective) -> Holdings:
    """Rank s holds chunks sC to (s+1)C."""
    rank = np.arange(collective.rank_count, dtype=np.int64)
    chunks = collective.chunk_count
    return Holdings(rank, rank * chunks, (rank + 1) * chunks)


def _own_block_of_everyone(collective: Collective) -> Holdings:
    """Rank floor(l n / C) holds chunk sC + l, for every rank s."""
    ranks, chunks = collective.rank_count, collective.chunk_count
    block = chunks // ranks
    rank, owner = np.divmod(np.arange(ranks * ranks, dtype=np.int64), ranks)
    lo = owner * chunks + rank * block
    return Holdings(rank, lo, lo + block)


def _op(
    name: str,
    before: Callable[[Collective], Holdings],
    after: Callable[[Collective], Holdings],
    *,
    reduces: bool = False,
    rooted: bool = False,
) -> CollectiveOp:
    """Return a collective, which uses blocks where somebody holds one of them."""
    return CollectiveOp(
        name=name,
        reduces=reduces,
        rooted=rooted,
        uses_blocks=everyone_own_block in (before, after),
        initial=before,
        final=after,
    )


OP = (
    _op("all-gather", everyone_own_block, everyone_everything),
    _op("all-reduce", everyone_everything, everyone_everything, reduces=True),
    CollectiveOp(
        name="all-to-all",
        reduces=False,
        rooted=False,
        uses_blocks=True,
        initial=_own_buffer,
        final=_own_block_of_everyone,
        chunks_per_rank=True,
    ),
    _op("broadcast", root_everything, everyone_everything, rooted=True),
    _op("gather", everyone_own_block, root_everything, rooted=True),
    _op("reduce", everyone_everything, root_everything, reduces=True, rooted=True),
    _op("reduce-scatter", everyone_everything, everyone_own_block, reduces=True),
    _op("scatter", root_everything, everyone_own_block, rooted=True),
)

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
        near = sorted({size // ranks * ranks or ranks, -(-size // ranks) * ranks})
        fix = f"use {' or '.join(map(str, near))}"
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
