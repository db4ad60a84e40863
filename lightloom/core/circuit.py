"""Circuits as columns: the rows of a segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged

ALONE = -1
"""What `Circuits.multicast` says of a circuit with one destination."""


@dataclass(frozen=True, eq=False)
class Circuits:
    """Light paths of one plane; row i is one circuit.

    Attributes
    ----------
    src, dst
        End nodes, shape (circuits,).
    wavelengths
        The wavelengths that share this row's route; ``None`` on fabrics without.
    route
        Node ids from src to dst, both included; ``None`` on fabrics without.
    direction
        Which way round a ring each circuit runs, shape (circuits,); ``None`` on
        fabrics without.
    transceiver
        Which transceiver of src sends and which of dst receives, shape (circuits,);
        ``None`` on fabrics without.
    multicast
        Rows of equal id, 0 or more, are one circuit with several destinations: what
        it sends is sent once and seen by them all, so they share src and all that
        a source gives (wavelengths, transceiver). `ALONE` marks a row by itself.
        ``None``, which says so of every row, is allowed on every fabric.
    """

    src: IntArray
    dst: IntArray
    wavelengths: Ragged | None = None
    route: Ragged | None = None
    direction: IntArray | None = None
    transceiver: IntArray | None = None
    multicast: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of circuits."""
        return len(self.src)

    def transmissions(self) -> IntArray:
        """Return which transmission each row belongs to, shape (circuits,).

        Rows of one multicast circuit have the number of its first row; every other
        row has its own. What a source gives is taken once for each number.
        """
        row = np.arange(len(self), dtype=np.int64)
        if self.multicast is None:
            return row
        shared = np.flatnonzero(self.multicast != ALONE)
        _, first, member = np.unique(
            self.multicast[shared], return_index=True, return_inverse=True
        )
        row[shared] = shared[first][member]
        return row
