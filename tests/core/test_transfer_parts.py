"""Chunks on the move as steps."""

from __future__ import annotations

from lightloom.core.schedule import Op, transfer_parts


def test_chunks_in_a_row_are_one_transfer() -> None:
    """Steps without moves are left out."""
    copy = int(Op.COPY)
    found = transfer_parts([(5, 0, 1, copy, 3), (2, 1, 0, copy, 8), (5, 0, 1, copy, 4)])
    assert [part.index for part in found] == [0, 1]
    moved = found[1].transfers
    assert (list(moved.src), list(moved.dst)) == ([0], [1])


def test_nothing_moves() -> None:
    """No moves, no steps."""
    assert transfer_parts(()) == ()
