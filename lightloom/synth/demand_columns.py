"""The pairs and sizes of a demand as checked columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.units import MOST_BYTES

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Demand


def demand_columns(
    demand: Demand, node_count: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return source, destination and bytes of the pairs of a demand.

    `demand`: rows of source, destination and bytes; it may be empty.

    Returns three columns of 64-bit integers of shape (rows,), in the order of the
    demand.

    Raises `InputError`: a row whose ends are invalid, that repeats an earlier one, or
    whose bytes are not an integer of 1 to 2**60 - 1, naming the row.
    """
    seen: set[tuple[int, int]] = set()
    nodes = f"two different nodes of 0 to {node_count - 1}, each pair once"
    bytes_allowed = "an integer of 1 to 2**60 - 1"
    rows = zip(demand.src, demand.dst, demand.bytes, strict=True)
    for row, (src, dst, size) in enumerate(rows):
        where = f"demand, row {row}"
        pair = (src, dst)
        integers = type(src) is int and type(dst) is int
        inside = integers and 0 <= src < node_count and 0 <= dst < node_count
        if not inside or src == dst or pair in seen:
            raise InputError("invalid pair", where=where, found=pair, allowed=nodes)
        if type(size) is not int or not 0 < size <= MOST_BYTES:
            what = "invalid number of bytes"
            raise InputError(what, where=where, found=size, allowed=bytes_allowed)
        seen.add(pair)
    columns = (demand.src, demand.dst, demand.bytes)
    ends, others, size_bytes = (np.array(each, dtype=np.int64) for each in columns)
    return ends, others, size_bytes
