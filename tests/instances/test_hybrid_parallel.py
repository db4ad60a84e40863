"""The demand of hybrid-parallel training, beside its two collectives."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from lightloom.instances.catalogue import hybrid_parallel
from lightloom.instances.fabrics.sipac import Sipac


@pytest.mark.parametrize(("radix", "level"), [(2, 1), (4, 1), (3, 2), (2, 3)])
def test_a_node_sends_what_its_collectives_move(radix: int, level: int) -> None:
    """(r - 1) / r of the buffer in its switch, 2 (R - 1) / R of it to R replicas."""
    fabric = Sipac(radix=radix, level=level)
    replicas = radix**level
    # So that a pair's share is a whole number of bytes.
    size = 12 * level * replicas * radix
    task = hybrid_parallel(fabric, size)
    inside: Counter[int] = Counter()
    across: Counter[int] = Counter()
    for src, dst, asked in zip(task.src, task.dst, task.bytes, strict=True):
        together = src // radix == dst // radix
        assert together or src % radix == dst % radix
        (inside if together else across)[src] += asked
    nodes = range(fabric.node_count)
    assert inside == dict.fromkeys(nodes, size * (radix - 1) // radix)
    least = 2 * size * (1 - Fraction(1, replicas))
    assert across == dict.fromkeys(nodes, least)


def test_shares_are_rounded_up() -> None:
    """Ten bytes over 4 ports are 3 a pair; twice ten over 4 are 5."""
    task = hybrid_parallel(Sipac(radix=4), 10)
    assert sorted(set(task.bytes)) == [3, 5]
    assert len(task.bytes) == 16 * 6
