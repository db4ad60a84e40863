"""Signing: a schedule's footer, from what replay and the bounds say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom import __version__
from lightloom.core.certificate import stored
from lightloom.validate.certificates.objectives import catalogue
from lightloom.validate.seal import seal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.certificate import ObjectiveCertificate
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance


def signed(
    schedule: Schedule,
    instance: Instance,
    objectives: Iterable[ObjectiveCertificate] = (),
) -> Schedule:
    """Return a schedule with its footer: counts, completion time, certificates.

    Parameters
    ----------
    schedule
        Sound, whatever its footer.
    instance
        The instance that it serves.
    objectives
        Bounds on other objectives that measure it, one each; their values are
        recomputed from the schedule.
    """
    sealed = seal(schedule)
    assert sealed.footer is not None
    valued = tuple(_valued(bound, schedule, instance) for bound in objectives)
    footer = replace(sealed.footer, objectives=valued)
    return replace(sealed, footer=footer, written_by=f"lightloom {__version__}")


def _valued(
    bound: ObjectiveCertificate, schedule: Schedule, instance: Instance
) -> ObjectiveCertificate:
    """Return a bound with what the schedule has of its objective."""
    objective = catalogue()[bound.objective]
    _, value = objective.measure(instance.fabric, schedule)
    return msgspec.structs.replace(bound, value=stored(value))
