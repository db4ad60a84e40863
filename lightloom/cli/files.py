"""Files of a command line: what is read, and what may be written, looked at first."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.core.errors import FormatError
    from lightloom.core.schedule import SealedSchedule

STDOUT = "-"
_FOREIGN = {
    ".xml": "a program of GPUs: `lightloom verify` checks it, `lightloom import`",
    ".csv": "a table: `lightloom import`",
    ".json": "a file of another program: `lightloom import`",
}


def check_output(
    path: str, option: str, *inputs: str, compressible: bool = True
) -> None:
    """Raise if a file can plainly not be written, or is one that is read.

    `path`: file to write; ``-`` stands for stdout.

    Raises `InputError`: no name, one of the inputs, a folder, a file in no folder, one
    that the operating system does not let us write, or a compression that is not known
    or not `compressible`.
    """
    if path == STDOUT:
        return
    if not path:
        what, allowed = "the name of the file is empty", "the name of a file"
        raise InputError(what, where=option, allowed=allowed)
    for source in inputs:
        if _same(path, source):
            what, fix = "this would overwrite what is read", "name another file"
            raise InputError(what, where=option, found=path, fix=fix)
    from lightloom.formats.atomic import check_writable
    from lightloom.formats.compression import MOST_RATIO, check_compression

    check_compression(path)
    suffix = Path(path).suffix.lower()
    if suffix in MOST_RATIO and not compressible:
        what, allowed = "this file is not written compressed", "a name without it"
        raise InputError(what, where=option, found=suffix, allowed=allowed)
    check_writable(path)


def output_folder(path: str, option: str) -> Path:
    """Return a folder for output, which need not be there yet.

    Raises `InputError`: no name, or a file is in its way.
    """
    if not path:
        what, allowed = "the name of the folder is empty", "the name of a folder"
        raise InputError(what, where=option, allowed=allowed)
    folder = Path(path)
    there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    if there.exists() and not there.is_dir():
        what, fix = f"{there} is a file", "name a folder"
        raise InputError(what, where=option, found=path, fix=fix)
    return folder


def _same(path: str, other: str) -> bool:
    """Return whether two names are those of one file that exists."""
    with contextlib.suppress(OSError, ValueError):
        return Path(path).samefile(other)
    return False


def check_outputs(outputs: Mapping[str, str | None], *inputs: str) -> None:
    """Raise if a file beside the result can plainly not be written, or two are one.

    `outputs`: the file that each option names, ``None`` where it is not given.

    Raises `InputError`: as `check_output` says, or a file would be mixed into stdout.
    """
    given = [*inputs]
    for flag, path in outputs.items():
        if path is None:
            continue
        if path == STDOUT:
            raise InputError("stdout has the result", where=flag, fix="a file")
        check_output(path, flag, *given)
        given.append(path)


def plain_name(file: str) -> str:
    """Return a name without the suffix of its compression."""
    return file.removesuffix(".gz").removesuffix(".zst")


def read_schedule_file(
    file: str,
    tell: Callable[[str], None],
    told: Callable[[FormatError], None] | None = None,
) -> SealedSchedule:
    """Return the schedule in a file; of an instance or a foreign file, say what it is.

    `file`: a name, or ``-`` for standard input. `tell`: is told that it is being read.
    `told`: takes the error of a hash that differs, which is raised where ``None``.

    Raises `InputError`: there is no such file, or it is no schedule.
    """
    from lightloom.formats.schedule_reader import read_schedule

    tell(f"reading {file}")
    try:
        return read_schedule(file, told)
    except InputError as problem:
        problem.fix = _instead(file) or problem.fix
        problem.args = (problem.line(),)
        raise


def _instead(file: str) -> str | None:
    """Return what a name is that no schedule is read from, ``None`` if unknown."""
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
