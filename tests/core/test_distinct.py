"""Groups of rows that are alike, whatever their hashes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core import columns
from lightloom.core.columns import alike_groups

few = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@pytest.mark.parametrize("multiplier", [None, 1, 0])
@given(drawn=st.lists(few, min_size=1, max_size=20))
def test_alike_groups_have_the_same_rows(
    multiplier: int | None, drawn: list[list[int]]
) -> None:
    """With hashes that are equal too often, groups that differ still stay apart."""
    starts = np.cumsum([0, *map(len, drawn)])[:-1]
    with pytest.MonkeyPatch.context() as patch:
        if multiplier is not None:
            patch.setattr(columns, "_MULTIPLIER", multiplier)
        like = alike_groups(np.concatenate(drawn), starts)
    assert [drawn[group] for group in like.tolist()] == drawn
    assert (like[like] == like).all()
    if multiplier is None:
        assert len(set(like.tolist())) == len(set(map(tuple, drawn)))
