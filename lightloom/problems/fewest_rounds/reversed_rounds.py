"""Rounds that reduce, made of rounds that copy: time and arcs turned around."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.schedule import Op, Transfers
from lightloom.models.rounds_answer import RoundAnswer, RoundsAnswer

if TYPE_CHECKING:
    from lightloom.core.task import Collective

ALL_REDUCE = "all-reduce"
_REVERSAL_OF = {
    ALL_REDUCE: "all-gather",
    "reduce": "broadcast",
    "reduce-scatter": "all-gather",
}


def copying(collective: Collective) -> Collective:
    """Return the copying collective that answers this one: itself, or its reversal."""
    op = _REVERSAL_OF.get(collective.op, collective.op)
    return msgspec.structs.replace(collective, op=op)


def completed(answer: RoundsAnswer, collective: Collective) -> RoundsAnswer:
    """Return an answer of `copying(collective)` as one of the collective.

    In rounds that copy, each node receives a chunk it lacks once, so its routes form
    a tree from the holder. Turned around they lead to the holder, and every node
    passes on once, after all that came to it: with *reduce* it adds up. An
    all-reduce goes up and down the tree.
    """
    if collective.op not in _REVERSAL_OF:
        return RoundsAnswer(collective, answer.rounds)
    rounds = tuple(_reversed(one) for one in reversed(answer.rounds))
    if collective.op == ALL_REDUCE:
        rounds += answer.rounds
    return RoundsAnswer(collective, rounds)


def _reversed(one: RoundAnswer) -> RoundAnswer:
    """Return a round with every transfer and circuit turned around, sorted again."""
    moved = one.transfers
    order = np.lexsort((moved.chunk_lo, moved.src, moved.dst))
    transfers = Transfers(
        moved.dst[order],
        moved.src[order],
        moved.chunk_lo[order],
        moved.chunk_hi[order],
        np.full(len(order), int(Op.REDUCE)),
    )
    return replace(one, transfers=transfers, circuits=_turned(one.circuits))


def _turned(circuits: Circuits) -> Circuits:
    """Return circuits from their destinations to their sources, sorted again."""
    routes = [route[::-1] for route in circuits.lists("route").to_lists()]
    rows = sorted(
        range(len(routes)),
        key=lambda row: (routes[row][0], routes[row][-1], routes[row]),
    )
    order = np.array(rows, dtype=np.int64)
    return Circuits(
        circuits.dst[order],
        circuits.src[order],
        circuits.lists("wavelengths").take(order),
        Ragged.from_lists(routes).take(order),
    )
