"""Writes a schedule to a file after verifying it as a reader will read it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom import __version__
from lightloom.core.errors import LightloomError
from lightloom.formats.compression import open_writing
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.synth.bounds import LowerBounds
from lightloom.validate import verify
from lightloom.validate.seal import seal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.certificate import Certificate
    from lightloom.core.schedule import Schedule, SealedSchedule
    from lightloom.instances.instance import Instance
    from lightloom.validate import Verdict


class UnverifiedError(LightloomError):
    """A schedule about to be published breaks a rule: a bug of the synthesiser."""

    exit_code = 70


def publish(schedule: Schedule, path: str) -> Verdict:
    """Write a schedule, verified as a reader will read it.

    The lines of the file are made, read back and verified before a byte reaches
    `path`; then they are written at once, or not at all.

    `path`: a file name, compressed by suffix, or ``-`` for standard output.

    Raises `UnverifiedError` if the schedule breaks a rule; nothing is written;
    `InputError` if the file cannot be written; nothing is left behind.
    """
    lines = list(schedule_lines(schedule))
    name = "the schedule about to be written"
    verdict = verify(read_schedule_stream(io.BytesIO(b"".join(lines)), name))
    if not verdict.valid:
        first = verdict.violations[0]
        what = f"{verdict.violation_count} violations, first {first.rule}"
        raise UnverifiedError(what, where=name, found=first.message)
    with open_writing(path) as file:
        for line in lines:
            file.write(line)
    return verdict


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
