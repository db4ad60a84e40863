"""Columns of circuits: all that rooms do with them follows from one declaration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lightloom.core.circuit import COLUMNS, CircuitColumn, Circuits, join_circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.formats.schedule_records import NEW_KEYS, SegmentLine

NAMES = [each.name for each in COLUMNS]


def circuits(first: int) -> Circuits:
    """Return two circuits with every column, different from those of other numbers."""
    rows = (first, first + 1)
    lists = Ragged.from_lists([[row, row + 7] for row in rows])
    values: dict[str, Any] = {
        each.name: lists if each.ragged else column(rows) for each in COLUMNS
    }
    return Circuits(column(rows), column(rows), **values)


def rows_of(made: Circuits) -> list[tuple[object, ...]]:
    """Return circuits as rows."""
    columns = [made.src.tolist(), made.dst.tolist()]
    for each in COLUMNS:
        if each.ragged:
            columns.append(made.lists(each.name).to_lists())
        else:
            columns.append(made.column(each.name).tolist())
    return list(zip(*columns, strict=True))


def test_files_have_the_columns_in_their_order() -> None:
    """Behind src and dst; those that version 1 lacks are known."""
    assert list(SegmentLine.__struct_fields__[4:]) == NAMES
    assert NEW_KEYS[SegmentLine] == ("transceiver", "multicast")


def test_circuits_are_taken_and_joined_row_by_row() -> None:
    """Rows keep their values in every column."""
    one, other = circuits(0), circuits(10)
    joined = join_circuits([one, other], NAMES)
    assert rows_of(joined) == rows_of(one) + rows_of(other)
    order = np.array([3, 0], dtype=np.int64)
    assert rows_of(joined.take(order)) == [rows_of(other)[1], rows_of(one)[0]]
    assert len(join_circuits([], NAMES)) == 0


@pytest.mark.parametrize("each", COLUMNS, ids=NAMES)
def test_a_missing_column_is_named(each: CircuitColumn) -> None:
    """Where circuits are joined, and so wherever it is asked for."""
    bare = Circuits(column([0]), column([1]))
    with pytest.raises(InputError, match=f"circuits without {each.name}"):
        join_circuits([bare], [each.name])
