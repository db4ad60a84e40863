"""Time that nodes are busy: the length of a union of intervals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lightloom.replay.timeline import union_lengths

# Far apart, owner and time do not fit one integer and are numbered instead.
times = st.integers(0, 20) | st.integers(2**61, 2**61 + 20)
intervals = st.tuples(st.integers(0, 3), times, times).map(
    lambda row: (row[0], min(row[1:]), max(row[1:]))
)


def _union_length(spans: list[tuple[int, int]]) -> int:
    """Return the length of a union, by cutting it at every end."""
    ends = sorted({end for span in spans for end in span})
    return sum(
        b - a for a, b in pairwise(ends) if any(lo <= a and b <= hi for lo, hi in spans)
    )


@given(st.lists(intervals, max_size=12))
def test_unions_of_intervals(rows: list[tuple[int, int, int]]) -> None:
    """Whatever the order and the size of times, each owner's union is exact."""
    owner, start, end = (
        np.array([row[place] for row in rows], dtype=np.int64) for place in range(3)
    )
    expected = [
        _union_length([row[1:] for row in rows if row[0] == one]) for one in range(4)
    ]
    assert union_lengths(owner, start, end, 4).tolist() == expected
