"""The record of traffic rounds as segments and steps of a schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lightloom.core.schedule import transfer_columns

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import FluidTransfers, Segment, StepPart, Transfers


@dataclass(frozen=True, eq=False)
class Realisation:
    """Segments and steps that carry some rounds, as in a schedule.

    `segments`: what each plane holds, in the order of the file; none without circuits.
    `parts`: the steps, one for each round, in order of (step, segment).
    """

    segments: tuple[Segment, ...]
    parts: tuple[StepPart, ...]


def take_rows(
    transfers: Transfers | FluidTransfers, rows: IntArray
) -> Transfers | FluidTransfers:
    """Return some rows of transfers.

    `rows`: row numbers, shape (rows,), in the order wanted.
    """
    columns: dict[str, Any] = {
        name: column[rows] for name, column in transfer_columns(transfers).items()
    }
    return replace(transfers, **columns)
