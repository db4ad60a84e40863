"""Ranks of one configuration whose lasers the peers do not divide, as a network."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.network import RankNetwork

if TYPE_CHECKING:
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath

_TREES = ("broadcast", "reduce")


@functools.lru_cache(maxsize=16)
def uneven_network(fabric: Lightpath, task: Collective) -> RankNetwork | None:
    """Return all pairs of ranks joined, by one wavelength more at some distances.

    The lasers of a tile are spread over its peers: those at odd distances get one more
    than others, as long as there are any, so that what goes over two of them ends
    where the others are. Blocks take the shortest distances first, trees the shortest
    of both ways round. ``None`` where lasers are fewer than peers, or spread
    evenly. Asked again it is the same object, by which searches know what they found.
    """
    ranks = task.rank_count
    peers = ranks - 1
    if not 1 < peers < fabric.lasers or not fabric.lasers % peers:
        return None
    each, more = divmod(fabric.lasers, peers)
    away = np.arange(1, ranks)
    place = np.minimum(away, ranks - away) if task.op in _TREES else away
    order = np.lexsort((away, place, away % 2 == 0))
    lit = np.full(ranks, each)
    lit[away[order[:more]]] += 1
    src, dst = np.nonzero(~np.eye(ranks, dtype=np.bool_))
    rate = fabric.bits_per_second_per_wavelength * lit[(dst - src) % ranks]
    return RankNetwork(
        ranks,
        src * ranks + dst,
        np.arange(len(src), dtype=np.int64),
        BITS_PER_BYTE * PS_PER_S / rate,
        fabric.alpha_ps,
        (ranks,),
    )
