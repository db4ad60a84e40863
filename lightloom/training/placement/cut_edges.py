"""What passes between the parts of two operations that are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray


def part_edges(
    size_bytes: int, src_parts: int, dst_parts: int, *, whole: bool, aligned: bool
) -> tuple[IntArray, IntArray, list[int]]:
    """Return which part of one operation sends how much to which part of another.

    `whole`: whether each part of the second needs all of it. `aligned`: whether both
    are cut along one dimension; part j of q then needs the slice j/q to (j + 1)/q.

    Returns src, dst, bytes Parts, distinct pairs, and what passes, rounded up; see
    `lightloom.core.computation.Split`.
    """
    if whole or not aligned:
        src = np.repeat(np.arange(src_parts), dst_parts)
        dst = np.tile(np.arange(dst_parts), src_parts)
        share = src_parts if whole else src_parts * dst_parts
        return src, dst, [-(-size_bytes // share)] * len(src)
    # Cuts of both, in units of 1 / (p q) of the whole.
    cuts = np.union1d(
        np.arange(src_parts + 1) * dst_parts, np.arange(dst_parts + 1) * src_parts
    )
    starts, pieces = cuts[:-1], np.diff(cuts).tolist()
    share = src_parts * dst_parts
    sizes = [-(-size_bytes * piece // share) for piece in pieces]
    return starts // dst_parts, starts // src_parts, sizes


def moved_bytes(
    size_bytes: int, src_parts: int, dst_parts: int, *, whole: bool, aligned: bool
) -> int:
    """Return what has to leave its device, parts being on devices in their order.

    Part i of p is where part j of q is if i/p = j/q, as far as that goes.

    Parameters
    ----------
    size_bytes
        Bytes of the edge before its ends are cut.
    src_parts, dst_parts
        In how many parts its source and its destination are cut, 1 or more.
    whole
        Whether each part of the destination needs all bytes.
    aligned
        Whether both are cut along one dimension, so that part j of q needs the
        slice j/q to (j + 1)/q only.

    Examples
    --------
    Parts of a batch stay where they are; where each part needs all bytes, half of them
    move to each of two devices:

    >>> moved_bytes(8, 2, 2, whole=False, aligned=True)
    0
    >>> moved_bytes(8, 2, 2, whole=True, aligned=False)
    8
    """
    most = max(src_parts, dst_parts)
    if whole:
        return dst_parts * size_bytes - dst_parts * size_bytes // most
    if not aligned:
        return size_bytes - size_bytes // most
    src, dst, sizes = part_edges(
        size_bytes, src_parts, dst_parts, whole=False, aligned=True
    )
    apart = (src * dst_parts // src_parts != dst) & (
        src != dst * src_parts // dst_parts
    )
    return sum(size for size, away in zip(sizes, apart.tolist(), strict=True) if away)
