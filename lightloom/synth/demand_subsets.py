"""The choice of the pairs of a demand to serve where not all of them can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Callable

CircuitsT = TypeVar("CircuitsT")


def light_most(light: Callable[[Demand], CircuitsT], demand: Demand) -> CircuitsT:
    """Return circuits for the pairs with most to send.

    Where no circuits serve all pairs, the half of them with less to send waits.

    `demand`: bytes of each pair, one pair or more.

    Raises `InfeasibleError, NoAnswerError`: the pair with most to send has no circuit,
    whatever else is served.
    """
    rows = sorted(zip(demand.src, demand.dst, demand.bytes, strict=True))
    while True:
        try:
            return light(Demand.from_rows(rows))
        except (InfeasibleError, NoAnswerError):
            if len(rows) == 1:
                raise
            rows.sort(key=lambda row: (-row[2], row))
            rows = rows[: -(-len(rows) // 2)]


def most_partners(demand: Demand) -> int:
    """Return the most nodes that one node sends to, or receives from."""
    ends = (np.array(end, dtype=np.int64) for end in (demand.src, demand.dst))
    return max(int(np.bincount(end).max(initial=0)) for end in ends)


def largest_pairs(demand: Demand, ports: int) -> Demand:
    """Return the pairs of a demand that find ports, those with most bytes first."""
    rows = sorted(
        zip(demand.src, demand.dst, demand.bytes, strict=True),
        key=lambda row: (-row[2], row),
    )
    out: dict[int, int] = {}
    into: dict[int, int] = {}
    kept = []
    for src, dst, size in rows:
        if out.get(src, 0) < ports and into.get(dst, 0) < ports:
            out[src], into[dst] = out.get(src, 0) + 1, into.get(dst, 0) + 1
            kept.append((src, dst, size))
    return Demand.from_rows(kept)
