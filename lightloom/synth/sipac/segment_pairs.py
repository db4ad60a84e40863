"""Pairs of a segment on SiPAC: who talks to whom in its rounds, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Transfers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.sipac import Sipac
    from lightloom.synth.traffic import TrafficRound


@dataclass(frozen=True, eq=False)
class SegmentPairs:
    """The (src, dst) pairs of some rounds, each one hop apart.

    `src`, `dst`, `level`: shape (pairs,); sorted by src, then dst. `size_bytes`: what
    each pair moves in each round, shape (rounds, pairs). `alike`: whether, in every
    round, what the pair's source sends on its level is the same for all whom it sends
    to there, shape (pairs,).
    """

    src: IntArray
    dst: IntArray
    level: IntArray
    size_bytes: IntArray
    alike: npt.NDArray[np.bool_]


def pairs_of(fabric: Sipac, rounds: Sequence[TrafficRound]) -> SegmentPairs:
    """Return the pairs of rounds in which all transfers go one hop.

    `rounds`: traffic in order, between nodes that share a switch; one round or more.
    """
    count = fabric.node_count
    keys = [one.transfers.src * count + one.transfers.dst for one in rounds]
    pair = np.unique(np.concatenate(keys))
    src, dst = pair // count, pair % count
    level = fabric.level_of(src, dst)
    size_bytes = np.zeros((len(rounds), len(pair)), dtype=np.int64)
    alike = np.ones(len(pair), dtype=np.bool_)
    port = src * fabric.levels + level
    for number, (one, key) in enumerate(zip(rounds, keys, strict=True)):
        place = np.searchsorted(pair, key)
        np.add.at(size_bytes[number], place, one.size_bytes)
        alike &= ~np.isin(port, port[_odd(one, place, port)])
    return SegmentPairs(src, dst, level, size_bytes, alike)


def _odd(one: TrafficRound, place: IntArray, port: IntArray) -> IntArray:
    """Return pairs that send other chunks than the first pair of their port does.

    `place`: the pair of each of its rows. `port`: which source and level each pair is
    of.
    """
    moved = one.transfers
    if not isinstance(moved, Transfers):
        return np.unique(place)  # nobody else's bytes are the same
    order = np.argsort(place, kind="stable")
    present, begin = np.unique(place[order], return_index=True)
    length = np.diff(begin, append=len(order))
    lead_of: dict[int, int] = {}
    lead = [
        lead_of.setdefault(number, index)
        for index, number in enumerate(port[present].tolist())
    ]
    odd = length != length[lead]
    same = np.flatnonzero(~odd)
    within = np.arange(int(length[same].sum()))
    within -= np.repeat(np.cumsum(length[same]) - length[same], length[same])
    mine = order[np.repeat(begin[same], length[same]) + within]
    other = order[np.repeat(begin[np.array(lead)[same]], length[same]) + within]
    differ = moved.chunk_lo[mine] != moved.chunk_lo[other]
    differ |= moved.chunk_hi[mine] != moved.chunk_hi[other]
    odd[np.repeat(same, length[same])[differ]] = True
    found: IntArray = present[odd]
    return found
