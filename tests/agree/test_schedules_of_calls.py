"""Calls of a training iteration that take the time of synthesised schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Collective, Demand, Task
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.replay.workload import (
    CallQueue,
    Launch,
    ReplayedCalls,
    ReplayedCollectives,
    SharedLinks,
    replay_iteration,
)
from lightloom.synth.synthesise import synthesise
from tests.examples.iterations import iteration, spans

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule

FREE = Launch(0, 0)


def _schedules(asked: list[Task]) -> ReplayedCalls:
    """Return calls by schedules on an ideal switch of four nodes."""
    fabric = IdealSwitch(nodes=4)

    def schedule_of(task: Task) -> Schedule:
        asked.append(task)
        algorithm = "ring" if isinstance(task, Collective) else "auto"
        made = synthesise(Instance(fabric, task, "call"), algorithm).incumbent
        assert made is not None
        return made.schedule

    return ReplayedCalls(schedule_of)


def test_calls_take_the_time_of_their_schedules() -> None:
    """Six steps of a ring of four; the same collective is asked for once."""
    asked: list[Task] = []
    costs = _schedules(asked)
    made = iteration(
        4,
        [(0, 0)],
        [(0, 1, 0), (1, 2, 0)],
        [(4 * 300, [0, 1, 2, 3]), (4 * 300, [0, 1, 2, 3])],
    )
    timeline = replay_iteration(made, CallQueue(costs), FREE)
    ring = 6 * (700_000 + 300 * 8 * 10**12 // (24 * 10**11))
    assert spans(timeline.collectives) == [(0, ring), (ring, 2 * ring)]
    assert asked == [Collective("all-reduce", (0, 1, 2, 3), 1200)]
    fabric = IdealSwitch(nodes=4)
    alone = SharedLinks(fabric, ReplayedCollectives(costs.schedule_of))
    again = replay_iteration(made, alone, FREE)
    assert spans(again.collectives) == spans(timeline.collectives)


def test_schedules_of_something_else_are_refused() -> None:
    """A collective of another size, and a demand of other bytes."""
    asked: list[Task] = []
    right = _schedules(asked).schedule_of
    other = Collective("all-reduce", (0, 1, 2, 3), 8)
    costs = ReplayedCalls(lambda _task: right(other))
    with pytest.raises(InputError, match="allowed: all-reduce of 16 bytes, 4 ranks"):
        costs.collective_ps("all-reduce", np.arange(4), 16)
    with pytest.raises(InputError, match="another task than the call's demand"):
        costs.transfers_ps(Demand.from_rows([(0, 1, 8)]))
