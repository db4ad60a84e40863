"""The choice of the tile that plays each rank of an algorithm.

Neighbouring ranks exchange most in many algorithms; where waveguides are few, an
order that keeps them near each other needs fewer wavelengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.schedule import Transfers
from lightloom.instances.collectives import op_of
from lightloom.synth.traffic import TrafficRound, plan_traffic

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.plans.plan import Plan

GIVEN_ORDER = "given"
"""Name of the order in which nodes stand, which a schedule does not mention."""


def _snake(row: IntArray, col: IntArray) -> IntArray:
    """Every second row runs backwards, so consecutive ranks are neighbours."""
    width = int(col.max()) + 1
    return row * width + np.where(row % 2, width - 1 - col, col)


def _morton(row: IntArray, col: IntArray) -> IntArray:
    """Bits of row and column interleaved: squares of four, of sixteen, ..."""
    key = np.zeros_like(row)
    for bit in range(20):
        key |= ((col >> bit) & 1) << (2 * bit)
        key |= ((row >> bit) & 1) << (2 * bit + 1)
    return key


def _row_major(row: IntArray, col: IntArray) -> IntArray:
    return row * (int(col.max()) + 1) + col


_KEYS: dict[str, Callable[[IntArray, IntArray], IntArray]] = {
    "morton": _morton,
    "row-major": _row_major,
    "snake": _snake,
}


def mappings(fabric: Lightpath, nodes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return the distinct orders of nodes, by name; ``given`` is as they stand."""
    node = np.array(nodes, dtype=np.int64)
    row, col = node // fabric.cols, node % fabric.cols
    found = {GIVEN_ORDER: nodes}
    for name, key in _KEYS.items():
        order = tuple(node[np.argsort(key(row, col), kind="stable")].tolist())
        if order not in found.values():
            found[name] = order
    return found


def reordered(collective: Collective, order: tuple[int, ...]) -> Collective:
    """Return the collective with its ranks played in another order, same root."""
    root = collective.root
    if root is None and op_of(collective).rooted:
        root = collective.nodes[0]
    return msgspec.structs.replace(collective, nodes=order, root=root)


def mapped_traffic(plan: Plan, task: Collective) -> tuple[TrafficRound, ...]:
    """Return the traffic of a plan whose ranks are played in another order.

    ``plan.collective`` has the nodes of `task` in the order that plays the ranks.
    Where the operation uses blocks, block b of the plan is the block that `task`
    gives to the node in place b, so that every node ends with its own.
    """
    rounds = plan_traffic(plan, plan.collective.nodes)
    if plan.collective.nodes == task.nodes or not op_of(task).uses_blocks:
        return rounds
    rank_of = {node: rank for rank, node in enumerate(task.nodes)}
    rank = np.array([rank_of[node] for node in plan.collective.nodes], dtype=np.int64)
    block = plan.collective.chunk_count // len(rank)
    new_block = rank
    if op_of(task).chunks_per_rank:
        new_block = (rank[:, None] * len(rank) + rank[None, :]).reshape(-1)
    return tuple(_renumber(round_, new_block, block) for round_ in rounds)


def _renumber(round_: TrafficRound, new_block: IntArray, block: int) -> TrafficRound:
    """Cut every chunk range at block borders and move each piece to its new block."""
    transfers = round_.transfers
    assert isinstance(transfers, Transfers)
    first = transfers.chunk_lo // block
    pieces = (transfers.chunk_hi - 1) // block - first + 1
    row = np.repeat(np.arange(len(transfers)), pieces)
    within = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    old = first[row] + within
    lo = np.maximum(transfers.chunk_lo[row], old * block)
    hi = np.minimum(transfers.chunk_hi[row], (old + 1) * block)
    shift = (new_block[old] - old) * block
    chunk_bytes = (
        round_.size_bytes[row] // (transfers.chunk_hi - transfers.chunk_lo)[row]
    )
    return TrafficRound(
        Transfers(
            transfers.src[row],
            transfers.dst[row],
            lo + shift,
            hi + shift,
            transfers.op[row],
        ),
        (hi - lo) * chunk_bytes,
        round_.port[row],
    )
