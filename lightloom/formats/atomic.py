"""Atomic writing: a file is complete under its name, or it is not there."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; it appears, whole, when the block ends.

    The bytes go to a temporary file in the same folder, which is synced to disk
    and renamed over `path` at the end. If the block raises anything, the temporary
    file is removed and whatever `path` held before stays. Symbolic links are
    followed; an existing file keeps its permissions. A device or a pipe, which
    cannot be renamed over, is written directly.

    Raises
    ------
    InputError
        The folder is missing, `path` is a folder, or writing is refused by the
        operating system.
    """
    with _refusals_of(path):
        target = Path(os.path.realpath(path))
        mode = _mode_of(target, path)
    if mode is not None and not stat.S_ISREG(mode):
        with _refusals_of(path):
            device = target.open("wb")
        with _refusals_of(path, inside=True), device:
            yield device
        return
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    with _refusals_of(path):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with _refusals_of(path, inside=True), os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _refusals_of(path):
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _mode_of(target: Path, path: str | Path) -> int | None:
    """Return the mode of an existing file, ``None`` where there is none yet."""
    if not target.parent.is_dir():
        what, fix = "cannot write: no such folder", f"create {target.parent}"
        raise InputError(what, where=str(path), fix=fix)
    if target.is_dir():
        what, fix = "cannot write: this is a folder", "name a file in it"
        raise InputError(what, where=str(path), fix=fix)
    return target.stat().st_mode if target.exists() else None


@contextlib.contextmanager
def _refusals_of(path: str | Path, *, inside: bool = False) -> Iterator[None]:
    """Say what the operating system refuses as one line about `path`.

    Inside the caller's block, errors that name a file are about another one.
    """
    try:
        yield
    except OSError as problem:
        if inside and problem.filename is not None:
            raise
        what = f"cannot write: {problem.strerror or problem}"
        raise InputError(what, where=str(path)) from problem
    except ValueError:
        if inside or "\0" not in str(path):
            raise
        what = "cannot write: the name holds a null byte"
        raise InputError(what, where=repr(str(path))) from None


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name survives a crash, where that works."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
