"""Levels of a ring: what is pinned is there."""

from __future__ import annotations

from lightloom.core.outcome import Reason
from lightloom.instances.fabrics.ring import Ring
from lightloom.models.ring_level import build, decode
from lightloom.solvers import run


def test_pins_take_the_first_wavelengths() -> None:
    """Pairs of several circuits that fill a span are pinned to all its wavelengths."""
    fabric = Ring(nodes=4, wavelengths=6)
    counts = {(0, 2): 3, (1, 3): 2, (1, 2): 1}
    model = build(fabric, [(*pair, 0) for pair in counts], counts)
    assert run(model, "highs").reason is Reason.PROVEN_OPTIMAL
    lit = decode(model)
    assert {way: len(several) for way, several in lit.items()} == {
        (*pair, 0): count for pair, count in counts.items()
    }
    assert sorted(one for several in lit.values() for one in several) == [*range(6)]
