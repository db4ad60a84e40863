"""The oracle itself: it accepts a plan made by hand and refuses broken ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lightloom.core.task import Collective
from lightloom.plans.plan import Plan, Round
from tests.oracle.rank_buffers import execute


def _round(*rows: tuple[int, int, int, int, int, int]) -> Round:
    return Round(
        *(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    )


_SWAP = _round((0, 1, 1, 2, 1, 0), (1, 0, 0, 1, 1, 0))
_BACK = _round((0, 1, 0, 1, 0, 0), (1, 0, 1, 2, 0, 0))
_ALL_REDUCE = Plan(Collective("all-reduce", (0, 1), 8, 2), (_SWAP, _BACK))


def test_a_plan_by_hand() -> None:
    """Reduce-scatter and all-gather on two ranks are an all-reduce."""
    execute(_ALL_REDUCE)


@pytest.mark.parametrize(
    "rounds",
    [
        (_SWAP,),
        (_SWAP, _SWAP),
        (_SWAP, _SWAP, _BACK),
        (_BACK, _SWAP),
        (_SWAP, replace(_BACK, op=_SWAP.op)),
        (_SWAP, replace(_BACK, chunk_hi=_BACK.chunk_lo)),
        (_SWAP, replace(_BACK, port=np.array([0], dtype=np.int64))),
        (_SWAP, replace(_BACK, dst=_BACK.src)),
        (_SWAP, _round((0, 1, 0, 1, 0, 0), (0, 1, 0, 1, 0, 0), (1, 0, 1, 2, 0, 0))),
        (_SWAP, _round((0, 1, 0, 1, 0, 0), (1, 0, 0, 1, 0, 0), (1, 0, 1, 2, 0, 1))),
    ],
    ids=[
        "missing-round",
        "twice",
        "double-reduce",
        "wrong-order",
        "reduce-for-copy",
        "empty-range",
        "short-column",
        "to-itself",
        "two-copies",
        "pair-split-over-ports",
    ],
)
def test_broken_plans_are_refused(rounds: tuple[Round, ...]) -> None:
    """Every kind of damage is noticed."""
    with pytest.raises(AssertionError):
        execute(replace(_ALL_REDUCE, rounds=rounds))


def test_data_a_rank_does_not_hold() -> None:
    """A rank cannot send a block that it has not got."""
    early = _round((1, 0, 0, 1, 0, 0))
    with pytest.raises(AssertionError, match="lacks what it sends"):
        execute(Plan(Collective("all-gather", (0, 1), 8, 2), (early,)))
