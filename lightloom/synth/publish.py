"""Writes a schedule to a file after verifying it as a reader will read it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from lightloom.core.errors import LightloomError
from lightloom.formats.compression import open_writing
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.validate import verify

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
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
