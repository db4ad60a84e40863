"""Rows of a demand: whether they make sense on a fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_BYTES = 2**60 - 1


def check_demand_rows(
    src: Sequence[int],
    dst: Sequence[int],
    size_bytes: Sequence[int],
    node_count: int,
    where: str,
) -> None:
    """Raise if a row of a demand makes no sense on a fabric.

    `src`, `dst`, `size_bytes`: columns: row i asks for size_bytes[i] from src[i] to
    dst[i]; 0 bytes are nothing to do.

    Raises `InputError`: columns of different lengths, a node outside the fabric, a node
    sending to itself, a negative or absurd amount.
    """
    found = [len(src), len(dst), len(size_bytes)]
    if len(set(found)) > 1:
        raise InputError("columns differ in length", where=where, found=found)
    try:
        tail, head, size = (
            np.array(column, dtype=np.int64) for column in (src, dst, size_bytes)
        )
    except OverflowError:  # some integer is far too large: exact, and slow
        tail, head, size = (
            np.array(column, dtype=object) for column in (src, dst, size_bytes)
        )
    wrong = (tail < 0) | (tail >= node_count) | (head < 0) | (head >= node_count)
    wrong |= (tail == head) & (size != 0)
    wrong |= (size < 0) | (size > _MOST_BYTES)
    for row in np.flatnonzero(wrong)[:1].tolist():
        _refuse(src[row], dst[row], size_bytes[row], node_count, f"{where} row {row}")


def _refuse(src: int, dst: int, size_bytes: int, node_count: int, where: str) -> None:
    """Raise what is wrong with a row."""
    for node in (src, dst):
        if not 0 <= node < node_count:
            what, allowed = "node outside the fabric", f"0 to {node_count - 1}"
            raise InputError(what, where=where, found=node, allowed=allowed)
    if src == dst and size_bytes:
        found = f"{src} to {dst}"
        raise InputError("a node sends to itself", where=where, found=found)
    allowed = "0 to 2**60 - 1"
    raise InputError(
        "bytes not allowed", where=where, found=size_bytes, allowed=allowed
    )
