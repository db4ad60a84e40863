"""Random pairs of random sizes, with no node more often on a side than allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

_MEGABYTE = 10**6
_KEPT = 0.7


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
        what, found = "invalid demand", (nodes, partners, most_mb)
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


def permuted_demand(
    nodes: int, partners: int, most_mb: int, seed: Sequence[int]
) -> Demand:
    """Return a demand over random permutations, three pairs in ten left out.

    Parameters
    ----------
    nodes
        At least 2.
    partners
        Permutations, at least 1; a node sends to so many others at most.
    most_mb
        Sizes are drawn uniformly from 1 to this many megabytes.
    seed
        What all is drawn from.
    """
    if not (nodes >= 2 and partners >= 1 and most_mb >= 1 and min(seed) >= 0):
        what, found = "invalid demand", (nodes, partners, most_mb)
        allowed = "2 nodes, a partner, 1 MB, draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng(seed)
    src = np.tile(np.arange(nodes), partners)
    dst = np.concatenate([rng.permutation(nodes) for _ in range(partners)])
    kept = (rng.random(len(src)) < _KEPT) & (src != dst)
    src, dst = np.divmod(np.unique(src[kept] * nodes + dst[kept]), nodes)
    size = rng.integers(1, most_mb, len(src), endpoint=True) * _MEGABYTE
    columns = (src.tolist(), dst.tolist(), size.tolist())
    return Demand.from_rows(list(zip(*columns, strict=True)))


def near_demand(
    nodes: int, steps: Sequence[int], partners: int, most_mb: int, seed: Sequence[int]
) -> Demand:
    """Return a demand in which each node sends to some others near it.

    Parameters
    ----------
    nodes
        At least 2.
    steps
        How far down a ring, modulo `nodes`, a node may send.
    partners
        To how many of these it does.
    most_mb
        Sizes are drawn uniformly from 1 to this many megabytes.
    seed
        What all is drawn from.
    """
    if not (1 <= partners <= len(steps) and most_mb >= 1 and min(seed) >= 0):
        what, found = "invalid demand", (nodes, partners, most_mb)
        allowed = "at most as many partners as are in reach, 1 MB, draw from 0"
        raise InputError(what, found=found, allowed=allowed)
    rng = np.random.default_rng(seed)
    return Demand.from_rows(
        [
            (
                node,
                (node + int(step)) % nodes,
                int(rng.integers(1, most_mb, endpoint=True)) * _MEGABYTE,
            )
            for node in range(nodes)
            for step in rng.choice(steps, partners, replace=False)
        ]
    )
