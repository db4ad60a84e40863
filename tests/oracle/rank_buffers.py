"""Execution of a plan on real integer buffers, and what a collective must give.

Shares nothing with the program: ranks are rows of one array, chunks its columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Plan, Round

COPY, REDUCE = 0, 1


def block_owner(collective: Collective) -> IntArray:
    """Return the rank whose block each chunk id is in (its destination in all-to-all).

    Plain loops; shape (chunk ids,).
    """
    ranks, chunks = collective.rank_count, collective.chunk_count
    owner = [
        rank
        for rank in range(ranks)
        for _ in range(rank * chunks // ranks, (rank + 1) * chunks // ranks)
    ]
    if collective.op == "all-to-all":
        owner *= ranks
    return np.array(owner, dtype=np.int64)


def initially_held(collective: Collective) -> BoolArray:
    """Return which rank (row) holds which chunk (column) before."""
    ranks, chunks = collective.rank_count, collective.chunk_count
    owner = block_owner(collective)
    rank = np.arange(ranks)[:, None]
    if collective.op in ("all-gather", "gather"):
        return np.equal(rank, owner)
    if collective.op in ("broadcast", "scatter"):
        return np.broadcast_to(rank == collective.root_rank, (ranks, chunks)).copy()
    if collective.op == "all-to-all":
        return np.equal(rank, np.arange(ranks * chunks) // chunks)
    return np.ones((ranks, chunks), dtype=bool)


def finally_held(collective: Collective) -> BoolArray:
    """Return which rank (row) must hold which chunk (column) after."""
    ranks, chunks = collective.rank_count, collective.chunk_count
    rank = np.arange(ranks)[:, None]
    if collective.op in ("scatter", "reduce-scatter", "all-to-all"):
        return np.equal(rank, block_owner(collective))
    if collective.op in ("gather", "reduce"):
        return np.broadcast_to(rank == collective.root_rank, (ranks, chunks)).copy()
    return np.ones((ranks, chunks), dtype=bool)


def execute(plan: Plan, seed: int = 0) -> None:
    """Run a plan on random buffers; raise `AssertionError` where it goes wrong.

    Every round is checked to be well formed, every transfer to have its data, and
    the buffers at the end to be what numpy makes of those at the start.
    """
    collective = plan.collective
    held = initially_held(collective)
    rng = np.random.default_rng(seed)
    start = rng.integers(-(2**40), 2**40, held.shape) * held
    buffers = start.copy()
    for index, round_ in enumerate(plan.rounds):
        check_round(round_, held.shape, f"round {index}")
        buffers, held = _step(round_, buffers, held, f"round {index}")
    # Values that are not reduced have one holder at the start, so a sum is that value.
    wanted = np.broadcast_to(start.sum(axis=0), held.shape)
    must = finally_held(collective)
    assert held[must].all(), "a rank lacks a chunk"
    assert (buffers[must] == wanted[must]).all(), "a chunk has the wrong value"


def check_round(round_: Round, shape: tuple[int, ...], where: str) -> None:
    """Raise unless a round keeps the promises of its record."""
    columns = (
        round_.src,
        round_.dst,
        round_.chunk_lo,
        round_.chunk_hi,
        round_.op,
        round_.port,
    )
    assert {(len(c), c.ndim, c.dtype) for c in columns} == {
        (len(round_.src), 1, np.dtype(np.int64))
    }, f"{where}: columns differ in length or type"
    assert len(round_.src), f"{where}: no rows"
    assert (round_.src != round_.dst).all(), f"{where}: a rank sends to itself"
    ranks = np.concatenate([round_.src, round_.dst])
    assert ranks.min() >= 0, f"{where}: negative rank"
    assert ranks.max() < shape[0], f"{where}: no such rank"
    assert (round_.chunk_lo >= 0).all(), f"{where}: negative chunk"
    assert (round_.chunk_lo < round_.chunk_hi).all(), f"{where}: empty range"
    assert (round_.chunk_hi <= shape[1]).all(), f"{where}: no such chunk"
    assert (round_.port >= 0).all(), f"{where}: negative port"
    port_of: dict[tuple[int, int], int] = {}
    sends: dict[tuple[int, int], int] = {}
    receives: dict[tuple[int, int], int] = {}
    for src, dst, port in zip(
        round_.src.tolist(), round_.dst.tolist(), round_.port.tolist(), strict=True
    ):
        assert port_of.setdefault((src, dst), port) == port, f"{where}: pair split"
        assert sends.setdefault((port, src), dst) == dst, f"{where}: source twice"
        assert receives.setdefault((port, dst), src) == src, f"{where}: target twice"


def _step(
    round_: Round, buffers: IntArray, held: BoolArray, where: str
) -> tuple[IntArray, BoolArray]:
    """Return buffers and holdings after a round; all reads come before all writes."""
    after, holds = buffers.copy(), held.copy()
    copied = np.zeros_like(held)
    reduced = np.zeros_like(held)
    for src, dst, lo, hi, op in zip(
        round_.src.tolist(),
        round_.dst.tolist(),
        round_.chunk_lo.tolist(),
        round_.chunk_hi.tolist(),
        round_.op.tolist(),
        strict=True,
    ):
        assert held[src, lo:hi].all(), f"{where}: rank {src} lacks what it sends"
        assert not copied[dst, lo:hi].any(), f"{where}: two writes to rank {dst}"
        if op == COPY:
            assert not reduced[dst, lo:hi].any(), f"{where}: two writes to rank {dst}"
            after[dst, lo:hi] = buffers[src, lo:hi]
            copied[dst, lo:hi] = True
            holds[dst, lo:hi] = True
        else:
            assert op == REDUCE, f"{where}: unknown op {op}"
            assert held[dst, lo:hi].all(), f"{where}: reduce into nothing at {dst}"
            after[dst, lo:hi] += buffers[src, lo:hi]
            reduced[dst, lo:hi] = True
    return after, holds


def port_chunks(round_: Round) -> IntArray:
    """Return the most chunks that one pair of each port moves, by port."""
    most: dict[int, int] = {}
    moved: dict[tuple[int, int, int], int] = {}
    for row in range(len(round_.src)):
        pair = (int(round_.port[row]), int(round_.src[row]), int(round_.dst[row]))
        size = int(round_.chunk_hi[row] - round_.chunk_lo[row])
        moved[pair] = moved.get(pair, 0) + size
    for (port, _, _), size in moved.items():
        most[port] = max(most.get(port, 0), size)
    return np.array([most[port] for port in sorted(most)], dtype=np.int64)


def pairs(round_: Round) -> list[tuple[int, int]]:
    """Return the (src, dst) pairs of a round, sorted, each once."""
    return sorted(set(zip(round_.src.tolist(), round_.dst.tolist(), strict=True)))
