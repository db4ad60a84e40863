"""Tasks: what has to be communicated."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Collective(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A collective operation over ranks; rank i is ``nodes[i]``.

    Attributes
    ----------
    op
        Name of the operation, for example ``all-reduce``.
    nodes
        Participating nodes in rank order, all different.
    buffer_bytes
        The full buffer in bytes: the input of all-reduce, reduce-scatter,
        all-to-all, broadcast, reduce, scatter; the output of all-gather, gather.
    chunks
        Equal chunks the buffer is cut into; ``None`` while the algorithm may
        choose, never ``None`` in a schedule.
    root
        Node at the root of a rooted operation; ``None`` stands for ``nodes[0]``.
    """

    op: str
    nodes: tuple[int, ...]
    buffer_bytes: int
    chunks: int | None = None
    root: int | None = None

    @property
    def rank_count(self) -> int:
        """Number of ranks."""
        return len(self.nodes)

    @property
    def root_rank(self) -> int:
        """Rank of the root."""
        return 0 if self.root is None else self.nodes.index(self.root)

    @property
    def chunk_count(self) -> int:
        """Number of chunks of the buffer, once chosen.

        Raises
        ------
        InputError
            If no number of chunks has been chosen yet.
        """
        if self.chunks is None:
            what = "the collective has no chunk count yet"
            raise InputError(what, where="collective.chunks", fix="set chunks")
        return self.chunks

    @property
    def chunk_bytes(self) -> int:
        """Size of a chunk in bytes."""
        return self.buffer_bytes // self.chunk_count


class Demand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fluid traffic demand: row i asks for ``bytes[i]`` from src[i] to dst[i].

    Pairs are distinct and sorted by (src, dst); every amount is positive.
    """

    src: tuple[int, ...]
    dst: tuple[int, ...]
    bytes: tuple[int, ...]

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[int, int, int]]) -> Demand:
        """Return the demand of (src, dst, bytes) rows, repeated pairs summed."""
        totals: dict[tuple[int, int], int] = {}
        for src, dst, size_bytes in rows:
            totals[src, dst] = totals.get((src, dst), 0) + size_bytes
        served = sorted((pair, size) for pair, size in totals.items() if size)
        return cls(
            tuple(pair[0] for pair, _ in served),
            tuple(pair[1] for pair, _ in served),
            tuple(size for _, size in served),
        )


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operations to place on devices, and the data that pass between them.

    Operations are rows, numbered from 0; edges are rows too, and no path of edges
    comes back to where it began. Devices stand in a ring: device d + 1 follows d, and
    device 0 the last.

    Attributes
    ----------
    op
        Name of each operation, all different.
    duration_ps, memory_bytes
        What it takes, in time and in memory of the device it runs on.
    src, dst
        Operations at the ends of each edge: dst needs what src makes.
    bytes
        What passes over each edge.
    devices
        Number of devices.
    distance
        How many devices further down the ring than src dst may be at most.
    device_memory_bytes
        What the operations of one device may take; ``None`` where it is no limit.
    """

    op: tuple[str, ...]
    duration_ps: tuple[int, ...]
    memory_bytes: tuple[int, ...]
    src: tuple[int, ...]
    dst: tuple[int, ...]
    bytes: tuple[int, ...]
    devices: int
    distance: int
    device_memory_bytes: int | None = None


Task: TypeAlias = Collective | Demand
"""What a schedule can serve."""
