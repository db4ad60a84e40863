"""Replay against the event-stepping simulation, on every fabric with circuits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.testing.strategies import schedules
from tests.oracle.circuit_agreement import agree_on_circuits

CIRCUITS = ("lightpath", "ocs", "ramp", "ring", "ring-2d", "sipac")


def test_every_fabric_with_circuits_is_simulated() -> None:
    """A new one belongs in `CIRCUITS`, and its rate in `naive_rates`."""
    with_circuits = {
        name
        for name, kind in FABRICS.items()
        if hasattr(kind.record, "circuit_columns")
    }
    assert with_circuits == set(CIRCUITS)


@pytest.mark.parametrize("kind", CIRCUITS)
@settings(max_examples=30)
@given(st.data())
def test_every_time_on_circuits_agrees(kind: str, data: st.DataObject) -> None:
    """Transfers, reconfigurations and completion agree to the picosecond."""
    _check_times(kind, data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CIRCUITS)
@settings(max_examples=200)
@given(st.data())
def test_every_time_of_many_schedules_agrees(kind: str, data: st.DataObject) -> None:
    """The same, for many more schedules."""
    _check_times(kind, data)


def _check_times(kind: str, data: st.DataObject) -> None:
    made = data.draw(schedules([kind]))
    assert isinstance(load_fabric(made.fabric), CircuitFabric)
    agree_on_circuits(made)
