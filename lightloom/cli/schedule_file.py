"""The schedule file of a command line, and what to do with a file that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.core.schedule import SealedSchedule

_FOREIGN = {
    ".xml": "a program of GPUs: `lightloom verify` checks it, `lightloom import`",
    ".csv": "a table: `lightloom import`",
    ".json": "a file of another program: `lightloom import`",
}


def plain_name(file: str) -> str:
    """Return a name without the suffix of its compression."""
    return file.removesuffix(".gz").removesuffix(".zst")


def read_schedule_file(file: str) -> SealedSchedule:
    """Return the schedule in a file; of an instance or a foreign file, say what it is.

    `file`: a name, or ``-`` for standard input.

    Raises `InputError`: there is no such file, or it is no schedule.
    """
    from lightloom.formats.schedule_reader import read_schedule

    try:
        return read_schedule(file)
    except InputError as problem:
        problem.fix = _instead(file) or problem.fix
        problem.args = (problem.line(),)
        raise


def _instead(file: str) -> str | None:
    """Return what a name is that no schedule is read from, ``None`` if unknown."""
    from pathlib import Path

    name = plain_name(file)
    for suffix, what in _FOREIGN.items():
        if name.endswith(suffix) and Path(file).is_file():
            return f"it is {what} makes a schedule of it"
    if name.endswith(".toml") or _is_catalogued(file):
        synth = f"`lightloom synth {file} -o schedule.jsonl`"
        return f"it is an instance: {synth} makes a schedule of it"
    return None


def _is_catalogued(name: str) -> bool:
    from lightloom.instances.catalogue import instance_names

    return name in instance_names()
