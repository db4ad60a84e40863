"""Clocks: how a fabric's way of keeping time meets the rest of replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.replay.clock.transfer_rows import TransferRows
    from lightloom.replay.timeline import Reconfiguration


@dataclass(frozen=True, eq=False)
class Times:
    """Times of the transfers of some whole steps.

    `start_ps`, `end_ps`: of each transfer, sorted by pair (`TransferRows.order`).
    `bits_per_s`: total rate of the circuits of each pair; 0 on packet fabrics.
    """

    start_ps: IntArray
    end_ps: IntArray
    bits_per_s: IntArray


@dataclass
class History:
    """What a clock has seen so far."""

    step_end_ps: list[int] = field(default_factory=list)
    reconfigurations: list[Reconfiguration] = field(default_factory=list)
    every_round_charged_ps: int = 0

    @property
    def now_ps(self) -> int:
        """End of the last step so far."""
        return self.step_end_ps[-1] if self.step_end_ps else 0


class Clock(Protocol):
    """Times a schedule, whole steps at a time, in order."""

    history: History

    def time(self, rows: TransferRows) -> Times:
        """Return the times of the transfers of the next steps.

        Raises
        ------
        InputError
            Transfers that the fabric cannot carry as they are said to.
        OverflowError
            A time does not fit 63 bits.
        """

    def close(self) -> None:
        """Let everything happen that no step waits for."""
