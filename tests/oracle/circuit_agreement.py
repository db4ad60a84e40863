"""Replay on circuits against the event-stepping simulation, to the picosecond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.replay import completion_time_ps, replay
from tests.oracle.event_stepping import Simulation
from tests.oracle.naive_rates import bits_per_s

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule


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


def agree_on_circuits(made: Schedule) -> None:
    """Assert that transfers, reconfigurations and completion are the simulation's."""
    timeline = replay(made)
    naive = Simulation(_keys(dict(made.fabric)), made).run()
    assert timeline.completion_time_ps == naive.completion_time_ps
    assert completion_time_ps(made) == naive.completion_time_ps
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
