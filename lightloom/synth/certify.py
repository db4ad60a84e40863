"""Fills the footer of a schedule with what replay and the bounds say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom import __version__
from lightloom.synth.bounds import lower_bound
from lightloom.validate.seal import seal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.certificate import Certificate
    from lightloom.core.schedule import Schedule, SealedSchedule
    from lightloom.instances.instance import Instance


def signed(
    schedule: Schedule, instance: Instance, bounds: Iterable[Certificate] = ()
) -> SealedSchedule:
    """Return a schedule of ours with its footer: counts, time, certificates.

    The first certificate is the best lower bound on the completion time, if one is
    known.

    Parameters
    ----------
    schedule
        Sound, whatever its footer.
    instance
        The instance that it serves.
    bounds
        Certificates of other objectives that measure it, one each; their values are
        recomputed from the schedule.
    """
    best = lower_bound(instance.fabric, schedule.task)
    found = [*bounds] if best is None else [best, *bounds]
    return replace(seal(schedule, found), written_by=f"lightloom {__version__}")
