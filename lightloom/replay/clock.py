"""Clocks: what a fabric's way of keeping time hands to the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.replay.timeline import Reconfiguration


@dataclass(frozen=True, eq=False)
class Times:
    """Times of transfers and steps.

    Attributes
    ----------
    start_ps, end_ps
        Of each transfer, sorted by pair (`TransferRows.order`).
    step_end_ps
        End of each step.
    bits_per_s
        Total rate of the circuits of each pair; 0 on packet fabrics.
    reconfigurations
        In order of (start, plane).
    every_round_charged_ps
        See `lightloom.replay.timeline.Timeline`.
    """

    start_ps: IntArray
    end_ps: IntArray
    step_end_ps: tuple[int, ...]
    bits_per_s: IntArray
    reconfigurations: tuple[Reconfiguration, ...]
    every_round_charged_ps: int
