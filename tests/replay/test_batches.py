"""How many transfers are timed at once, and how sums are made, changes no time."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.replay import (
    circuit_table,
    clock,
    completion_time_ps,
    replay,
    timeline,
    transfer_rows,
)
from lightloom.replay.transfer_rows import stable_order
from lightloom.testing.strategies import schedules
from tests.replay.plane_fabric import fabrics, plane_schedules

LIMITS = (
    (transfer_rows, "BATCH_TRANSFERS"),
    (circuit_table, "BATCH_CIRCUITS"),
    (clock, "_PLACES_A_ROW"),
    (timeline, "_PLACES_A_PAIR"),
)


def _plain(value: object) -> object:
    """Return a record as nested lists, which can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    return value


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_batches_do_not_matter(data: st.DataObject) -> None:
    """Whole timelines are the same, on planes of any kind and on real fabrics."""
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            fabric = data.draw(fabrics)
            made = data.draw(plane_schedules(fabric))
            patch.setattr("lightloom.replay.execute.load_fabric", lambda _: fabric)
        else:
            made = data.draw(schedules())
        whole = replay(made)
        assert completion_time_ps(made) == whole.completion_time_ps
        for module, name in LIMITS:
            patch.setattr(module, name, data.draw(st.integers(1, 4)) - ("A_" in name))
        assert _plain(replay(made)) == _plain(whole)


keys = st.integers(0, 5) | st.integers(2**62, 2**62 + 5)


@given(st.lists(keys, max_size=20))
def test_order_is_that_of_a_stable_sort(values: list[int]) -> None:
    """Sorted or not, and whether or not keys and rows fit one integer."""
    order = stable_order(np.array(values, dtype=np.int64)).tolist()
    assert order == sorted(range(len(values)), key=values.__getitem__)
