"""Saturated ports: what they prove is true, and false ones are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.validate.certificates.circuits_per_byte import (
    SaturatedPort,
    check_saturated_port,
)
from tests.examples.small_demands import random_demand, threshold

FABRIC = Ocs(nodes=4, switches=4, bits_per_second_per_node=10**12)
DEMAND = Demand((0, 0, 1, 3), (1, 2, 2, 2), (8, 4, 2, 3))
WITNESS = SaturatedPort("column", 2, Fraction(1, 3))
"""More than a third takes two circuits, one and two of column 2, which has four."""
SIZES = (1, 2, 3, 5, 8, 13)


def test_a_line_is_counted_by_hand() -> None:
    """Column 2 proves a third: 2 + 1 + 2 circuits on four switches."""
    check_saturated_port(FABRIC, DEMAND, WITNESS)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ratio": Fraction(1, 4) - Fraction(1, 10**30)}, "which fit"),
        ({"ratio": Fraction(0)}, "which fit"),
        ({"side": "row"}, "which fit"),
        ({"node": 0}, "which fit"),
        ({"side": "row", "node": 0, "ratio": Fraction(1, 5)}, "which fit"),
        ({"side": "diagonal"}, "unknown side"),
        ({"node": -2}, "unknown node"),
        ({"node": 4}, "unknown node"),
        ({"node": True}, "unknown node"),
        ({"node": 2.0}, "unknown node"),
        ({"ratio": Fraction(-1, 3)}, "invalid ratio"),
        ({"ratio": 1 / 3}, "invalid ratio"),
        ({"ratio": None}, "invalid ratio"),
    ],
)
def test_false_witnesses_are_refused(change: dict[str, Any], named: str) -> None:
    """A line with room, a line there is not, and a ratio that is not exact."""
    with pytest.raises(InputError, match=named):
        check_saturated_port(FABRIC, DEMAND, replace(WITNESS, **change))


@pytest.mark.parametrize("switches", [5, 6])
def test_more_switches_take_the_proof_away(switches: int) -> None:
    """The same line has room where there are more switches."""
    fabric = Ocs(nodes=4, switches=switches, bits_per_second_per_node=10**12)
    with pytest.raises(InputError, match="which fit"):
        check_saturated_port(fabric, DEMAND, WITNESS)


def test_a_crowd_proves_nothing_can_be_promised() -> None:
    """Three destinations on two switches prove 0; on three they do not."""
    demand = Demand((0, 0, 0), (1, 2, 3), (1, 1, 1))
    witness = SaturatedPort("row", 0, Fraction(0))
    for switches in (2, 3):
        fabric = Ocs(nodes=4, switches=switches, bits_per_second_per_node=10**12)
        if switches == 2:
            check_saturated_port(fabric, demand, witness)
        else:
            with pytest.raises(InputError, match="which fit"):
                check_saturated_port(fabric, demand, witness)


@pytest.mark.parametrize("seed", range(30))
def test_no_line_proves_less_than_the_optimum(seed: int) -> None:
    """Below the optimum every line is refused, at the optimum one is accepted."""
    switches = 2 + seed % 4
    fabric = Ocs(nodes=4, switches=switches, bits_per_second_per_node=10**12)
    instance = random_demand(fabric, 3 + seed % 5, seed, SIZES)
    demand = instance.communication
    assert isinstance(demand, Demand)
    best = threshold(instance, switches) or Fraction(0)
    levels = {Fraction(n, size) for size in demand.bytes for n in range(switches + 1)}
    accepted = []
    for ratio in sorted(level for level in levels if level <= best):
        for node in range(4):
            for side in ("row", "column"):
                try:
                    witness = SaturatedPort(side, node, ratio)
                    check_saturated_port(fabric, demand, witness)
                except InputError:
                    continue
                accepted.append(ratio)
    assert accepted
    assert set(accepted) == {best}
