"""Atomic writing: a file is complete under its name, or it is not there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_UNSUPPORTED = frozenset(
    {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS}
)
"""How file systems and kernels answer that they have no files without a name."""


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; it appears, whole, when the block ends.

    The bytes go to a file in the same folder, which is synced to disk and renamed
    over `path` at the end. Until then it has no name, where the file system can do
    that, so that nothing is left of a writer that is killed; elsewhere it has a
    temporary one. If the block raises anything, the file is removed and whatever
    `path` held before stays. Of two that write at once, the later to end wins.
    Symbolic links are followed; an existing file keeps its permissions. A device or
    a pipe, which cannot be renamed over, is written directly.

    Raises `InputError`: the folder is missing, `path` is a folder, or writing is
    refused by the operating system.
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
        descriptor, named = _open_beside(target, temporary)
    try:
        with _refusals_of(path, inside=True), os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not named:
                with _refusals_of(path):
                    _name(file.fileno(), temporary)
        with _refusals_of(path):
            temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def write_folder(path: str | Path, files: Mapping[str, bytes]) -> None:
    """Write files by name into a folder, which is made where there is none.

    They are written beside the folder first, so that none of them is there when one
    cannot be. Other files of the folder stay.

    Raises `InputError`: writing is refused by the operating system.
    """
    target = Path(os.path.realpath(path))
    missing = [one for one in (target, *target.parents) if not one.exists()]
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    try:
        with _refusals_of(path):
            temporary.mkdir(parents=True)
        for name, content in files.items():
            with _refusals_of(target / name):
                (temporary / name).write_bytes(content)
        with _refusals_of(path):
            target.mkdir(exist_ok=True)
            for name in files:
                (temporary / name).replace(target / name)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    temporary.rmdir()
    _sync_folder(target)


def check_writable(path: str | Path) -> None:
    """Raise where `atomic_write` plainly would, before there is anything to write.

    Raises `InputError`: the folder is missing or closed to us, or `path` is a folder.
    """
    with _refusals_of(path):
        target = Path(os.path.realpath(path))
        mode = _mode_of(target, path)
        device = mode is not None and not stat.S_ISREG(mode)
        if not os.access(target if device else target.parent, os.W_OK):
            fixed = os.statvfs(target.parent).f_flag & os.ST_RDONLY
            code = errno.EROFS if fixed and not device else errno.EACCES
            raise OSError(code, os.strerror(code))


def _open_beside(target: Path, temporary: Path) -> tuple[int, bool]:
    """Open a new file in the folder of `target`; return it, and whether it has a name.

    A name, where there must be one, is `temporary`.
    """
    nameless = getattr(os, "O_TMPFILE", 0)
    if nameless:
        try:
            return os.open(target.parent, os.O_RDWR | nameless, 0o666), False
        except OSError as problem:
            if problem.errno not in _UNSUPPORTED:
                raise
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    return os.open(temporary, flags, 0o666), True


def _name(descriptor: int, temporary: Path) -> None:
    """Give the open file a name; copy it where the system does not let us."""
    folder = os.open(temporary.parent, os.O_RDONLY)
    try:
        # Only with a folder's descriptor does Python follow the link in /proc.
        own = f"/proc/self/fd/{descriptor}"
        os.link(own, temporary.name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.lseek(descriptor, 0, os.SEEK_SET)
        with temporary.open("xb") as copy, os.fdopen(os.dup(descriptor), "rb") as file:
            os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(descriptor).st_mode))
            shutil.copyfileobj(file, copy)
            copy.flush()
            os.fsync(copy.fileno())
    finally:
        os.close(folder)


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
