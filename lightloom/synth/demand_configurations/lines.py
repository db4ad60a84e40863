"""The lines of a demand: sets of pairs that share a capacity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

FloatArray = npt.NDArray[np.float64]

__all__ = ["FloatArray", "Lines", "node_lines"]


@dataclass(frozen=True, eq=False)
class Lines:
    """Pairs with their needs, and the lines that they are on.

    Attributes
    ----------
    need
        How long one unit takes to move the data of each pair, shape (pairs,); above 0.
    of_pair
        The lines of each pair, shape (pairs, most lines of a pair); places that are
        left over hold the number of lines.
    capacity
        Units that the pairs of a line may have in a configuration, shape (lines,).
    exact
        The first so many lines have all units in one place: no pair on them needs
        less than a unit of some configuration. What nodes send and receive.
    """

    need: FloatArray
    of_pair: IntArray
    capacity: IntArray
    exact: int

    @cached_property
    def members(self) -> list[IntArray]:
        """The pairs of each line, those of most need first."""
        order = np.argsort(-self.need, kind="stable")
        line = self.of_pair[order].reshape(-1)
        pair = np.repeat(order, self.of_pair.shape[1])
        by_line = np.argsort(line, kind="stable")
        ends = np.searchsorted(line[by_line], np.arange(len(self.capacity) + 1))
        return [pair[by_line[a:b]] for a, b in pairwise(ends.tolist())]

    @cached_property
    def least_total(self) -> float:
        """How long all configurations last together at least: the fullest line."""
        sums = [
            self.need[pairs].sum() / room
            for pairs, room in zip(self.members, self.capacity.tolist(), strict=True)
        ]
        return float(max(sums, default=0.0))

    def fewest(self) -> int:
        """Return the fewest configurations in which every pair has a unit."""
        return max(
            (
                -(-len(pairs) // room)
                for pairs, room in zip(
                    self.members, self.capacity.tolist(), strict=True
                )
            ),
            default=0,
        )


def node_lines(
    src: IntArray, dst: IntArray, need: FloatArray, nodes: int, units: int
) -> Lines:
    """Return the lines of what each node sends, then of what each receives.

    Parameters
    ----------
    src, dst
        Ends of each pair, shape (pairs,).
    need
        As of `Lines`.
    nodes
        Number of nodes.
    units
        Units of a node, each way.
    """
    of_pair = np.stack([src, nodes + dst], axis=1)
    capacity = np.full(2 * nodes, units, dtype=np.int64)
    return Lines(need, of_pair, capacity, 2 * nodes)
