"""Models that memory cannot hold are refused before they are built."""

from __future__ import annotations

import pytest

from lightloom.core.errors import InputError
from lightloom.core.units import GIB
from lightloom.problems.solver_model import available_bytes, check_size, estimate_bytes


def test_refused() -> None:
    """The message has the estimate, what is free, and what to use instead."""
    with pytest.raises(InputError) as caught:
        check_size(
            10**6, 10**6, 10**7, where="rack", instead="use synth", available=GIB
        )
    line = caught.value.line()
    assert line.startswith("rack: the model would take about 6.2 GiB")
    assert "1,000,000 rows" in line
    assert "1.0 GiB that are free" in line
    assert line.endswith("use synth")


def test_allowed() -> None:
    """A model that fits is not refused, up to the last byte."""
    need = estimate_bytes(10, 20, 30)
    check_size(10, 20, 30, where="rack", available=need)
    with pytest.raises(InputError):
        check_size(10, 20, 30, where="rack", available=need - 1)


def test_too_many_entries() -> None:
    """More entries than 32 bits can count are refused whatever the memory."""
    with pytest.raises(InputError, match="more entries than solvers can count"):
        check_size(1, 1, 2**31, where="rack", available=2**60)


def test_machine() -> None:
    """What this machine has is found, if it is a Linux."""
    found = available_bytes()
    assert found is None or found > 2**20
