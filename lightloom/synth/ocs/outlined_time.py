"""The least time of rounds on switches of which only outlines are known."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.plans.plan import RoundOutline


def outlined_switch_ps(
    fabric: Ocs, rounds: Sequence[RoundOutline], buffer_bytes: int
) -> int:
    """Return a lower bound on the time of rounds, whatever switches hold and when.

    Rounds follow one another, and each takes alpha and its data over all ports of the
    rank that its outline is about. On the other hand the ports of that rank together
    spend a reconfiguration on every circuit that they hold in turn, alpha on every
    stream, and the time of its data.

    `rounds`: what the rounds of a plan take at least.
    """
    if not rounds:
        return 0
    charged, ports = fabric.initial_configuration_charged, fabric.switches
    first_ps = fabric.reconfiguration_ps if charged else 0
    byte_ps = Fraction(BITS_PER_BYTE * PS_PER_S, fabric.bits_per_second_per_circuit)
    data_ps = sum(each.streams * each.share for each in rounds) * buffer_bytes * byte_ps
    in_turn_ps = first_ps + len(rounds) * fabric.alpha_ps + data_ps / ports
    circuits: dict[int, int] = {}
    for each in rounds:
        circuits[each.circuits] = max(circuits.get(each.circuits, 0), each.streams)
    held = sum(circuits.values()) - (0 if charged else ports)
    used = sum(each.streams for each in rounds)
    busy_ps = held * fabric.reconfiguration_ps + used * fabric.alpha_ps + data_ps
    return max(ceil(in_turn_ps), ceil(busy_ps / ports))
