"""Files and folders that are written: looked at before the work is done."""

from __future__ import annotations

import contextlib
from pathlib import Path

from lightloom.core.errors import InputError

STDOUT = "-"


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
