"""The post-condition names nodes, chunks and contributors."""

from __future__ import annotations

import numpy as np

from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.task import Collective
from lightloom.validate.data.contributions import check_postcondition
from lightloom.validate.data.moves import moves_of
from lightloom.validate.data.values import Values


def test_foreign_contributions_are_wrong() -> None:
    """A chunk that must hold one rank's data and holds another's as well is wrong."""
    task = Collective("all-gather", (5, 8), 2, 2)
    moves = moves_of(Schedule({}, task, Algorithm("none"), (), ()), task)
    values = Values(2)
    mine, theirs, both = values.intern(0b01), values.intern(0b10), values.intern(0b11)
    state = np.array([[mine, theirs], [both, theirs]], dtype=np.int32)
    (violation,) = check_postcondition(
        state, values, task, moves, reduces=False, atom_lo=0, atom_hi=2
    )
    assert violation.rule == "post-condition-wrong"
    assert violation.resource == "chunk 0 of node 8"
    assert violation.message.startswith("node 8 has a foreign contribution of node 8")


def test_runs_of_chunks_are_one_violation() -> None:
    """Chunks that lack the same contributions are reported together."""
    task = Collective("broadcast", (4, 2), 6, 6)
    moves = moves_of(Schedule({}, task, Algorithm("none"), (), ()), task)
    values = Values(2)
    state = np.full((2, moves.atom_count), values.intern(0b01), dtype=np.int32)
    state[1] = 0
    (violation,) = check_postcondition(
        state, values, task, moves, reduces=False, atom_lo=0, atom_hi=moves.atom_count
    )
    assert violation.rule == "post-condition-missing"
    assert violation.resource == "chunks 0:6 of node 2"
