"""Random pairs of random sizes, with no node more often on a side than allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

_MEGABYTE = 10**6


def random_demand(
    nodes: int, partners: int, most_mb: int, seed: Sequence[int]
) -> Demand:
    """Return a demand in which a node sends to, and hears from, `partners` at most.

    Parameters
    ----------
    nodes
        At least 2.
    partners
        Random cyclic shifts of a random order of the nodes: 1 .. nodes - 1.
    most_mb
        Sizes are drawn uniformly from 1 to this many megabytes.
    seed
        What all is drawn from.
    """
    if not (1 <= partners < nodes and most_mb >= 1 and min(seed) >= 0):
        what, found = "no such demand", (nodes, partners, most_mb)
        allowed = "fewer partners than nodes, at least 1 MB, draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes).tolist()
    shifts = rng.choice(np.arange(1, nodes), partners, replace=False).tolist()
    size = iter(rng.integers(1, most_mb, nodes * partners, endpoint=True).tolist())
    return Demand.from_rows(
        [
            (order[place], order[(place + shift) % nodes], next(size) * _MEGABYTE)
            for shift in shifts
            for place in range(nodes)
        ]
    )
