"""Algorithm and bus bandwidth of a collective, as collective benchmarks print them."""

from __future__ import annotations

from dataclasses import dataclass

from lightloom.core.task import Collective
from lightloom.core.units import GIGA, PS_PER_S
from lightloom.instances.collectives import op_of

RATES = ("algorithm_bytes_per_s", "bus_bytes_per_s")
"""Names of both in JSON and CSV."""


@dataclass(frozen=True)
class Bandwidth:
    """How fast a collective is, whatever its size.

    `algorithm_bytes_per_s` is the full buffer over the completion time;
    `bus_bytes_per_s` the same times what a rank must send of a buffer at least:
    2 (n - 1) / n for all-reduce, (n - 1) / n where the buffer is in blocks, 1 for
    broadcast and reduce. On an ideal switch it is at most the rate of a node.
    """

    algorithm_bytes_per_s: float
    bus_bytes_per_s: float

    def record(self) -> dict[str, int]:
        """Return both as whole bytes a second, as JSON and CSV have them."""
        rates = (self.algorithm_bytes_per_s, self.bus_bytes_per_s)
        return dict(zip(RATES, map(round, rates), strict=True))

    def __str__(self) -> str:
        """Return both in decimal gigabytes a second."""
        algorithm, bus = self.algorithm_bytes_per_s / GIGA, self.bus_bytes_per_s / GIGA
        return (
            f"algorithm bandwidth {algorithm:,.3f} GB/s, bus bandwidth {bus:,.3f} GB/s"
        )


def bandwidth(task: object, time_ps: int | None) -> Bandwidth | None:
    """Return the bandwidths of a collective that takes some time.

    ``None`` for another task, and without a time or with 0.
    """
    if not isinstance(task, Collective) or not time_ps:
        return None
    op, ranks = op_of(task), task.rank_count
    factor = 1.0
    if op.uses_blocks:
        factor = (ranks - 1) / ranks
    elif op.reduces and not op.rooted:
        factor = 2 * (ranks - 1) / ranks
    rate = task.buffer_bytes * PS_PER_S / time_ps
    return Bandwidth(rate, factor * rate)
