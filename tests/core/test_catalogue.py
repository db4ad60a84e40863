"""Catalogues: entries of our folders, and those registered in Python."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError


@dataclass(frozen=True)
class _Entry:
    name: str


def _ops() -> Catalogue[_Entry]:
    return Catalogue(
        "lightloom.instances.collectives", attribute="OP", noun="collective"
    )


def test_entries_of_a_folder_are_sorted_by_name() -> None:
    """Iteration, length, membership and look-up agree, whatever the order of files."""
    ops = _ops()
    assert list(ops) == sorted(ops) == list(ops.names)
    assert [entry.name for entry in ops.values()] == list(ops)
    assert dict(ops.items()) == {name: ops[name] for name in ops}
    assert len(ops) == len(ops.names)
    assert "all-reduce" in ops
    assert "all-reduces" not in ops
    assert "all-reduce" in repr(ops)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    """What, where, found, allowed and how to fix it, in one line."""
    with pytest.raises(
        InputError,
        match=r"^task\.op: unknown collective; found 'all-reduces'; allowed: all-gather"
        r".*; did you mean all-reduce",
    ):
        _ops().get("all-reduces", "task.op")
    with pytest.raises(InputError, match=r"^collective: missing collective; allowed"):
        _ops().get(None)
    with pytest.raises(InputError, match=r"unknown collective; found 3"):
        _ops().get(3)


def test_what_is_registered_is_found() -> None:
    """Registered again it is replaced, so that a cell of a notebook can run twice."""
    ops = _ops()
    first = ops.register(_Entry("gossip"))
    assert ops["gossip"] is first
    assert "gossip" in ops.names
    second = ops.register(_Entry("gossip"))
    assert ops["gossip"] is second
    assert "gossip" not in _ops()


def test_names_of_ours_cannot_be_taken() -> None:
    """Files that name a collective keep their meaning."""
    with pytest.raises(InputError, match="there is a collective of this name"):
        _ops().register(_Entry("all-reduce"))
