"""The rings in which the copies of a device sum their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray


@dataclass(frozen=True)
class TwinSum:
    """A collective of the twins of some replicas.

    `copies`: replicas whose twins take part, in the order of their ring.
    """

    op: str
    bytes: int
    copies: tuple[int, ...]


def twin_sums(rings: Sequence[int], size_bytes: int) -> tuple[tuple[TwinSum, ...], ...]:
    """Return the collectives that sum a buffer over replicas, stage after stage.

    One ring through all replicas is an all-reduce. On a grid of replicas every ring
    along the first axis reduces and scatters, those along the next one go on with
    a share, those along the last all-reduce theirs, and then all is gathered again:
    as many bytes a replica as in one ring through all, over fewer steps. A collective
    waits for those of the stage before that have a replica in common with it.

    `rings`: lengths of the rings along each axis; replicas are numbered row by row.
    """
    number = np.arange(prod(rings)).reshape(rings)
    axes = [axis for axis, length in enumerate(rings) if length > 1]
    if not axes:
        return ()
    sizes = [size_bytes]
    for axis in axes[:-1]:
        sizes.append(-(-sizes[-1] // rings[axis]))
    rest = list(zip(axes[:-1], sizes[:-1], strict=True))
    stages = [("reduce-scatter", *one) for one in rest]
    stages.append(("all-reduce", axes[-1], sizes[-1]))
    stages += [("all-gather", *one) for one in reversed(rest)]
    return tuple(
        tuple(TwinSum(op, size, copies) for copies in _lines(number, axis))
        for op, axis, size in stages
    )


def _lines(number: IntArray, axis: int) -> list[tuple[int, ...]]:
    """Return the replicas of each ring along an axis."""
    lines = np.moveaxis(number, axis, -1).reshape(-1, number.shape[axis])
    return [tuple(line) for line in lines.tolist()]
