"""Seals: the footer that a schedule deserves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.schedule import Footer
from lightloom.instances.fabrics import load_fabric

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule


def seal(schedule: Schedule) -> Schedule:
    """Return a schedule with true counts, replay's time and the best lower bound.

    Whatever footer it had is replaced. The schedule must be sound as far as replay
    asks; whether it obeys the rules is for `verify`. Deterministic.

    Parameters
    ----------
    schedule
        With its task's chunks chosen, where it is a collective.

    Raises
    ------
    InputError
        If replay refuses the schedule.
    """
    from lightloom.replay import completion_time_ps
    from lightloom.validate.certificates.completion_time import lower_bound

    time_ps = completion_time_ps(schedule)
    certificate = lower_bound(load_fabric(schedule.fabric), schedule.task)
    if certificate is not None:
        certificate = msgspec.structs.replace(certificate, value=time_ps)
    footer = Footer(
        len(schedule.segments),
        schedule.step_count,
        schedule.circuit_count,
        schedule.transfer_count,
        time_ps,
        certificate,
    )
    return replace(schedule, footer=footer)
