"""Bounds on collectives on RAMP: known values, and none beaten."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.task import Collective
from lightloom.instances.instance import Instance
from lightloom.synth.bounds import LowerBounds
from lightloom.synth.publish import signed
from lightloom.synth.ramp.schedules import OPS, ways
from lightloom.validate import verify
from lightloom.validate.seal import seal
from tests.examples.ramp_networks import network


@pytest.mark.parametrize(
    ("size", "portions", "received"),
    [
        # 32 sources at one hop, 384 at two, 607 at three; and so on.
        (2**20, 4, 32 + 2 * 384 + 3 * 607),
        (2**22, 6, 48 + 2 * 960 + 3 * 15),
        (2**24, 6, 48 + 2 * 960 + 3 * 15),
        (2**26, 7, 56 + 2 * 967),
    ],
)
def test_all_to_all_of_1024_nodes(size: int, portions: int, received: int) -> None:
    """The nearest sources first: P (alpha + d), and the hops of all blocks."""
    fabric = network((8, 8, 16))
    task = Collective("all-to-all", tuple(range(1024)), size)
    found = LowerBounds(fabric, task).best()
    assert found is not None
    assert found.kind == "hops"
    data_ps = received * (size // 1024) * 8 * 10**12 // fabric.node_bits_per_s
    assert abs(found.bound - portions * 1_451_000 - data_ps) <= 1


def test_a_broadcast_takes_two_portions() -> None:
    """64 nodes hear four circuits of the root, so 127 take two portions."""
    fabric, nodes = network((4, 4, 8)), tuple(range(128))
    found = LowerBounds(fabric, Collective("broadcast", nodes, 4)).best()
    assert found is not None
    assert 2 * 1_450_000 + 1000 <= found.bound <= 2 * 1_450_000 + 1100
    # In P portions 111 of 127 nodes wait for the second one.
    size = 2**24
    found = LowerBounds(fabric, Collective("broadcast", nodes, size)).best()
    assert found is not None
    assert found.kind == "holders"
    size_ps = Fraction(size * 8 * 10**12, fabric.node_bits_per_s)
    least = min(
        p * 1_450_000 + 1000 + size_ps * p / (p - Fraction(111, 127))
        for p in range(2, 40)
    )
    assert found.bound == -(-least.numerator // least.denominator)


@pytest.mark.parametrize("sizes", [(2, 2, 4), (3, 2, 6), (4, 4, 4)])
@pytest.mark.parametrize("op", OPS)
def test_no_schedule_beats_a_bound(op: str, sizes: tuple[int, int, int]) -> None:
    """Nothing does that is made in any way; and a bound beyond it is refused."""
    fabric = network(sizes)
    nodes = tuple(range(fabric.node_count))
    for block in (4, 1000, 10**6):
        task = Collective(op, nodes, block * len(nodes))
        for way in ways(fabric, task):
            schedule = signed(way.schedule(0), Instance(fabric, task, "test"))
            assert verify(schedule).violations == ()
            claimed = schedule.footer.certificate
            assert claimed is not None
            mutant = Certificate(
                *(COMPLETION_TIME, claimed.kind, claimed.bound + 1),
                *(None, claimed.witness),
            )
            broken = verify(seal(schedule, [mutant])).violations
            assert "certificate-bound" in {found.rule for found in broken}


def test_an_all_to_all_of_65536_nodes() -> None:
    """Its 2^32 pairs are not counted one by one: only hops speak, at once."""
    fabric = network((32, 32, 64))
    found = LowerBounds(
        fabric, Collective("all-to-all", tuple(range(65536)), 2**30)
    ).best()
    assert found is not None
    assert found.kind == "hops"
    assert found.bound > 1_300_000_000
