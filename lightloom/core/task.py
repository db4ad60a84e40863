"""Tasks: what has to be communicated."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import InputError
from lightloom.core.record import CheckedRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Collective(CheckedRecord, frozen=True):
    """A collective operation over ranks; rank i is ``nodes[i]``.

    Parameters
    ----------
    op
        Name of the operation, for example ``all-reduce``.
    nodes
        Participating nodes in rank order, all different; where there are none, an
        `Instance` takes all nodes of its fabric.
    buffer_bytes
        The full buffer in bytes: the input of all-reduce, reduce-scatter,
        all-to-all, broadcast, reduce, scatter; the output of all-gather, gather.
        1 or more: an `Instance` refuses the default.
    chunks
        Equal chunks the buffer is cut into; ``None`` while the algorithm may
        choose, never ``None`` in a schedule.
    root
        Node at the root of a rooted operation; ``None`` stands for ``nodes[0]``.
    """

    op: str
    nodes: tuple[int, ...] = ()
    buffer_bytes: int = 0
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


class Demand(CheckedRecord, frozen=True, omit_defaults=True):
    """A fluid traffic demand: row i asks for ``bytes[i]`` from src[i] to dst[i].

    Pairs are distinct and sorted by (src, dst); every amount is positive.

    Parameters
    ----------
    src, dst
        Nodes at the ends of each pair.
    bytes
        What src has for dst, 1 to 2**60 - 1.
    relays
        Whether a byte may take two circuits, with a relay in between; by default each
        takes one.
    """

    src: tuple[int, ...]
    dst: tuple[int, ...]
    bytes: tuple[int, ...]
    relays: bool = False

    @classmethod
    def from_rows(
        cls, rows: Sequence[tuple[int, int, int]], *, relays: bool = False
    ) -> Demand:
        """Return the demand of (src, dst, bytes) rows, repeated pairs summed.

        Parameters
        ----------
        rows
            Source, destination, and bytes from 0 on.
        relays
            Whether a byte may take two circuits.
        """
        totals: dict[tuple[int, int], int] = {}
        for src, dst, size_bytes in rows:
            totals[src, dst] = totals.get((src, dst), 0) + size_bytes
        served = sorted((pair, size) for pair, size in totals.items() if size)
        return cls(
            tuple(pair[0] for pair, _ in served),
            tuple(pair[1] for pair, _ in served),
            tuple(size for _, size in served),
            relays,
        )

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, relays: bool = False) -> Demand:
        """Return the demand of a traffic matrix.

        Parameters
        ----------
        matrix
            Square, as an array or as lists; entry [i][j] is what node i has for node
            j, in whole bytes, 0 to 2**60 - 1. The diagonal is 0.
        relays
            Whether a byte may take two circuits.

        Raises
        ------
        InputError
            If it is not square, has a fraction, a negative or too large amount, or a
            node has bytes for itself.
        """
        import numpy as np

        try:
            size = np.asarray(matrix)
        except ValueError:  # rows of different lengths
            size = np.empty(0)
        whole = np.issubdtype(size.dtype, np.integer) or (
            # Integers beyond 64 bits are objects to numpy.
            size.dtype == object and all(type(entry) is int for entry in size.flat)
        )
        if size.ndim != 2 or size.shape[0] != size.shape[1]:
            what, allowed = "the matrix is not square", "n rows of n entries"
            raise InputError(what, where="matrix", allowed=allowed)
        if not whole:
            what, kind = "the entries are not integers", str(size.dtype)
            raise InputError(what, where="matrix", found=kind, allowed="whole bytes")
        for row, column in np.argwhere((size < 0) | (size >= 2**60))[:1].tolist():
            what, allowed = "bytes not allowed", "0 to 2**60 - 1"
            place, found = f"matrix[{row}][{column}]", int(size[row, column])
            raise InputError(what, where=place, found=found, allowed=allowed)
        for node in np.flatnonzero(np.diagonal(size))[:1].tolist():
            place, found = f"matrix[{node}][{node}]", int(size[node, node])
            raise InputError("a node sends to itself", where=place, found=found)
        src, dst = np.nonzero(size)
        columns = (src, dst, size[src, dst])
        tail, head, most = (tuple(each.tolist()) for each in columns)
        return cls(tail, head, most, relays)


class Workload(CheckedRecord, frozen=True):
    """Operations to place on devices, and the data that pass between them.

    Operations are rows, numbered from 0; edges are rows too, and no path of edges
    comes back to where it began. Devices stand in a ring: device d + 1 follows d, and
    device 0 the last.

    Parameters
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
