"""Calls of a training iteration that take the time of synthesised schedules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.core.task import Collective, Task
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.replay.workload import (
    CallQueue,
    Launch,
    ScheduledCalls,
    replay_iteration,
)
from lightloom.synth.synthesise import synthesise
from tests.examples.iterations import iteration, spans

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule


@dataclass(frozen=True)
class Rings:
    """Schedules of rings on an ideal switch of four nodes; who asked is remembered."""

    asked: list[Task] = field(default_factory=list)

    def schedules(self, tasks: tuple[Task, ...]) -> tuple[Schedule, ...]:
        """Return the schedule of one task, none of several."""
        if len(tasks) > 1:
            return ()
        self.asked.append(tasks[0])
        made = synthesise(Instance(IdealSwitch(nodes=4), tasks[0]), "ring").incumbent
        assert made is not None
        return (made.schedule,)


def test_calls_take_the_time_of_their_schedules() -> None:
    """Six steps of a ring of four, twice."""
    source = Rings()
    made = iteration(
        4,
        [(0, 0)],
        [(0, 1, 0), (1, 2, 0)],
        [(4 * 300, [0, 1, 2, 3]), (4 * 300, [0, 1, 2, 3])],
    )
    queue = CallQueue(ScheduledCalls(source))
    timeline = replay_iteration(made, queue, Launch(0, 0))
    ring = 6 * (700_000 + 300 * 8 * 10**12 // (24 * 10**11))
    assert spans(timeline.collectives) == [(0, ring), (ring, 2 * ring)]
    assert set(source.asked) == {Collective("all-reduce", (0, 1, 2, 3), 1200)}
