"""Partitions: boundaries in exact arithmetic, circular ranges, empty rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.schedule import Op
from lightloom.plans.partition import Partition


@settings(deadline=None)
@given(st.integers(1, 2**20), st.integers(1, 2**60), st.data())
def test_boundaries_are_floors(parts: int, chunks: int, data: st.DataObject) -> None:
    """Boundary i is floor(i C / p), also where i C does not fit 63 bits."""
    position = data.draw(st.integers(0, parts))
    found = Partition(parts, chunks).boundary(np.array([position], dtype=np.int64))
    assert found.tolist() == [position * chunks // parts]


@settings(deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 50),
    st.integers(-40, 40),
    st.data(),
)
def test_circular_ranges(
    parts: int, chunks: int, start: int, data: st.DataObject
) -> None:
    """The rows of a range hold the chunks of its parts, each once, in no empty row."""
    length = data.draw(st.integers(0, parts))
    ends = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    made = Partition(parts, chunks).round(
        *ends, start, length, port=3, op=Op.REDUCE, base=100
    )
    wanted = [
        100 + chunk
        for part in sorted((start + i) % parts for i in range(length))
        for chunk in range(part * chunks // parts, (part + 1) * chunks // parts)
    ]
    if made is None:
        assert not wanted
        return
    ranges = sorted(zip(made.chunk_lo.tolist(), made.chunk_hi.tolist(), strict=True))
    assert [chunk for lo, hi in ranges for chunk in range(lo, hi)] == wanted
    assert all(lo < hi for lo, hi in ranges)
    assert set(made.port.tolist()) == {3}
    assert set(made.op.tolist()) == {1}
