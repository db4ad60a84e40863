"""Replay against plain re-statements, on random schedules for every real fabric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import catalogue, load_fabric
from lightloom.replay import replay
from lightloom.validate.strategies import schedules
from tests.replay.event_stepping import Simulation
from tests.replay.naive_rates import bits_per_s, packet_time_ps

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule

CIRCUITS = ("lightpath", "ocs", "ramp", "ring", "ring-2d", "sipac")
PACKETS = ("ideal-switch", "torus")


@dataclass(frozen=True)
class Keys:
    """The keys of a fabric table that times depend on."""

    alpha_ps: int
    reconfiguration_ps: int
    initial_configuration_charged: bool
    dark_while_reconfiguring: str
    bits_per_s: int


def _keys(table: dict[str, Any]) -> Keys:
    names = [name for name in Keys.__dataclass_fields__ if name != "bits_per_s"]
    return Keys(**{name: table[name] for name in names}, bits_per_s=bits_per_s(table))


def test_every_fabric_with_circuits_is_simulated() -> None:
    """A new one belongs in `CIRCUITS`, and its rate in `naive_rates`."""
    with_circuits = {
        name
        for name, kind in catalogue().items()
        if hasattr(kind.record, "circuit_columns")
    }
    assert with_circuits == set(CIRCUITS)


@pytest.mark.parametrize("kind", CIRCUITS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_time_on_circuits_agrees(kind: str, data: st.DataObject) -> None:
    """Transfers, reconfigurations and completion, to the picosecond."""
    made: Schedule = data.draw(schedules([kind]))
    assert isinstance(load_fabric(made.fabric), CircuitFabric)
    timeline = replay(made)
    naive = Simulation(_keys(dict(made.fabric)), made).run()
    assert timeline.completion_time_ps == naive.completion_time_ps
    times = {
        (part, row): (int(start), int(end))
        for part, columns in enumerate(timeline.transfers)
        for row, (start, end) in enumerate(
            zip(columns.start_ps, columns.end_ps, strict=True)
        )
    }
    assert times == naive.times
    found = [
        (done.plane, done.segment, done.start_ps, done.end_ps)
        for done in timeline.reconfigurations
    ]
    assert sorted(found) == sorted(naive.reconfigurations)


@pytest.mark.parametrize("kind", PACKETS)
@settings(max_examples=80, deadline=None)
@given(st.data())
def test_completion_without_circuits_agrees(kind: str, data: st.DataObject) -> None:
    """A step lasts as long as its most loaded link, hop by hop."""
    made: Schedule = data.draw(schedules([kind]))
    assert replay(made).completion_time_ps == packet_time_ps(made)
