"""Gossip by translation: every block goes from its rank as that of rank 0 does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.partition import Partition
from lightloom.plans.plan import Round
from lightloom.plans.reversal import reversed_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.rank_network import RankNetwork


@dataclass(frozen=True, eq=False)
class Sends:
    """What moves of the block of rank 0.

    `src`, `dst`: from which rank to which, shape (sends,). `lo`, `hi`: part of the
    block, from 0 to 1, shape (sends,).
    """

    step: IntArray
    src: IntArray
    dst: IntArray
    lo: FloatArray
    hi: FloatArray


def translated_rounds(
    collective: Collective,
    network: RankNetwork,
    sends_on: Callable[[RankNetwork], Sends],
) -> list[Round]:
    """Return the rounds of an all-gather, a reduce-scatter, or one after the other.

    Raises `InputError` if the network has no shape.
    """
    if not network.shape:
        what = "translated trees need ranks that look alike"
        fix = "take all nodes of the fabric, in the order of their numbers"
        raise InputError(what, where="algorithm", fix=fix)
    rounds: list[Round] = []
    if collective.op != "all-gather":
        # What turned messages gather, messages reduce in the opposite order.
        turned = network.turned()
        back = _gathered(collective, turned, sends_on(turned))
        rounds += reversed_rounds(back, Op.REDUCE)
    if collective.op != "reduce-scatter":
        rounds += _gathered(collective, network, sends_on(network))
    return rounds


def _gathered(
    collective: Collective, network: RankNetwork, sends: Sends
) -> list[Round]:
    """Return the rounds in which every block goes as that of rank 0 does."""
    ranks = network.ranks
    cut = Partition(ranks, collective.chunk_count)
    begin = cut.boundary(np.arange(ranks + 1, dtype=np.int64))
    size = np.diff(begin)
    sums = network.sums()
    between = network.differences()[sends.src, sends.dst]
    rounds = []
    for step in range(int(sends.step.max()) + 1):
        mine = np.flatnonzero(sends.step == step)
        _, number = np.unique(between[mine], return_inverse=True)
        lo, hi = (
            begin[:-1] + np.rint(part[mine, None] * size).astype(np.int64)
            for part in (sends.lo, sends.hi)
        )
        port = np.broadcast_to(number.reshape(-1, 1), lo.shape)
        some = lo < hi
        if some.any():
            src, dst = sums[sends.src[mine]][some], sums[sends.dst[mine]][some]
            code = np.full(len(src), int(Op.COPY), dtype=np.int64)
            rounds.append(Round(src, dst, lo[some], hi[some], code, port[some]))
    return rounds
