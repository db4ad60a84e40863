"""Fills the footer of a schedule with what replay and the bounds say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom import __version__
from lightloom.synth.bounds import LowerBounds
from lightloom.validate.seal import seal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.certificate import Certificate
    from lightloom.core.schedule import Schedule, SealedSchedule
    from lightloom.instances.instance import Instance


def signed(
    schedule: Schedule,
    instance: Instance,
    bounds: Iterable[Certificate] = (),
    known: LowerBounds | None = None,
) -> SealedSchedule:
    """Return a schedule of ours with its footer: counts, time, certificates.

    The first certificate is the best lower bound on the completion time, if one is
    known.

    `bounds`: certificates of other objectives that measure it, one each; their values
    are recomputed from the schedule.
    """
    made = replace(seal(schedule, bounds), written_by=f"lightloom {__version__}")
    known = known or LowerBounds(instance.fabric, schedule.task)
    time_ps = made.footer.completion_time_ps
    best = known.best(time_ps)
    if best is None:
        return made
    found = (replace(best, value=time_ps), *made.footer.certificates)
    return replace(made, footer=replace(made.footer, certificates=found))
