"""Circuits as columns: the rows of a segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray, Ragged


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
    """

    src: IntArray
    dst: IntArray
    wavelengths: Ragged | None = None
    route: Ragged | None = None
    direction: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of circuits."""
        return len(self.src)
