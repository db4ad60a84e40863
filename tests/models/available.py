"""The solvers that can be used here, for tests that ask every one."""

from __future__ import annotations

import pytest

from lightloom.solvers import SOLVERS


def _parameters(*, integer: bool) -> list[object]:
    found = []
    for name, adapter in SOLVERS.items():
        can = adapter.capabilities
        if can.integer if integer else can.continuous:
            status = adapter.status()
            skip = pytest.mark.skipif(not status.availability, reason=status.reason)
            found.append(pytest.param(name, marks=skip))
    return found


INTEGER_SOLVERS = _parameters(integer=True)
"""Solvers of integer programs; one that is not here skips with its reason."""
LINEAR_SOLVERS = _parameters(integer=False)
"""Solvers of linear programs."""
