"""Seals: the footer that a schedule deserves."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from lightloom.core.schedule import Footer, SealedSchedule
from lightloom.instances.fabrics import load_fabric
from lightloom.validate.certificates import measure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.certificate import Certificate
    from lightloom.core.schedule import Schedule


def seal(schedule: Schedule, bounds: Iterable[Certificate] = ()) -> SealedSchedule:
    """Return a schedule with true counts, replay's time and certificates.

    Whatever footer it had is replaced. The schedule must be sound as far as replay
    asks; whether it obeys the rules, and whether the bounds are proven, is for
    `verify`. Deterministic.

    Parameters
    ----------
    schedule
        With its task's chunks chosen, where it is a collective.
    bounds
        Certificates that it shall carry, one an objective; their values are
        recomputed from the schedule.

    Raises
    ------
    InputError
        If replay refuses the schedule.
    InapplicableError
        If the objective of a bound does not measure the schedule.
    """
    from lightloom.replay import completion_time_ps

    time_ps = completion_time_ps(schedule)
    fabric = load_fabric(schedule.fabric)
    certificates = []
    for bound in bounds:
        _, value = measure(bound.objective, fabric, schedule, time_ps)
        certificates.append(dataclasses.replace(bound, value=value))
    footer = Footer(
        len(schedule.segments),
        schedule.step_count,
        schedule.circuit_count,
        schedule.transfer_count,
        time_ps,
        tuple(certificates),
    )
    return SealedSchedule.of(schedule, footer)
