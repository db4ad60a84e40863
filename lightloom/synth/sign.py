"""Signing: a schedule's footer, from what replay and the bounds say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom import __version__
from lightloom.core.schedule import Footer
from lightloom.replay import replay
from lightloom.validate.bounds import lower_bound

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance


def signed(schedule: Schedule, instance: Instance) -> Schedule:
    """Return a schedule with its footer: counts, completion time, certificate.

    Parameters
    ----------
    schedule
        Sound, whatever its footer.
    instance
        The instance that it serves.
    """
    completion_time_ps = replay(schedule).completion_time_ps
    certificate = lower_bound(instance.fabric, schedule.task)
    if certificate is not None:
        certificate = msgspec.structs.replace(certificate, value=completion_time_ps)
    footer = Footer(
        len(schedule.segments),
        schedule.step_count,
        schedule.circuit_count,
        schedule.transfer_count,
        completion_time_ps,
        certificate,
    )
    return replace(schedule, footer=footer, written_by=f"lightloom {__version__}")
