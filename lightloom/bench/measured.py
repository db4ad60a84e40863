"""Running a measure: the stages before the timed one, then the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.bench.isolation import EventClock
from lightloom.bench.measures import MEASURES, STAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.bench.isolation import Event
    from lightloom.bench.job import BenchQuestion


def run_measure(
    job: BenchQuestion, tell: Callable[[Event], None]
) -> tuple[int, EventClock]:
    """Return the number that the timed stage comes to, and its clock.

    Parameters
    ----------
    job
        Names the measure, its parameters and the stage, by default the last.
    tell
        Receives events.
    """
    measure = MEASURES[job.entrant.solver]
    parameters = dict(job.entrant.parameters)
    stage = parameters.pop(STAGE, measure.stages[-1])
    stages = measure.run(job.instance, job.seed, **parameters)
    for name in measure.stages:
        if name == stage:
            break
        next(stages)
    clock = EventClock(tell)
    value = next(stages)
    clock.progress(float(value), None)
    clock.stop()
    return value, clock
