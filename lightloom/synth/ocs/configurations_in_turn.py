"""How many configurations an all-to-all takes in turn, and for how many rounds each."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.lifts import expected_hop_sum

if TYPE_CHECKING:
    from lightloom.instances.fabrics.ocs import Ocs

_FURTHER_ROUNDS = 8
_MOST = 2


def rounds_in_turn(
    fabric: Ocs, ranks: int, ports: int, buffer_bytes: int
) -> list[tuple[int, ...]]:
    """Return rounds of configurations that take turns, those that promise most first.

    All switches change together. Every number of configurations and of rounds is
    compared by the time that `expected_hop_sum` says; none is returned that promises no
    more than a single configuration does, or a direct exchange.

    `ranks`: number of ranks, at least 2.
    """
    byte_ps = Fraction(BITS_PER_BYTE * PS_PER_S, fabric.bits_per_second_per_circuit)
    hop_ps = buffer_bytes * byte_ps / ranks / ports
    charged = 1 if fabric.initial_configuration_charged else 0
    direct = -(-(ranks - 1) // ports)
    found: list[tuple[Fraction, tuple[int, ...]]] = []
    for count in range(1, direct):
        for steps in range(count, count + _FURTHER_ROUNDS):
            each, more = divmod(steps, count)
            rounds = (each + 1,) * more + (each,) * (count - more)
            hops = expected_hop_sum(ranks, ports, rounds)
            if hops is not None:
                changes = count - 1 + charged
                fixed_ps = changes * fabric.reconfiguration_ps + steps * fabric.alpha_ps
                found.append((fixed_ps + hops * hop_ps, rounds))
    each_ps = fabric.reconfiguration_ps + fabric.alpha_ps + ports * hop_ps
    direct_ps = direct * each_ps - (1 - charged) * fabric.reconfiguration_ps
    best: list[tuple[int, ...]] = []
    for least_ps, rounds in sorted(found):
        if len(best) == _MOST or len(rounds) == 1 or least_ps >= direct_ps:
            break
        best.append(rounds)
    return best
