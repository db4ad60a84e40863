"""Atomic writing: whole files or none, and what stood there before stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from lightloom.core.errors import InputError
from lightloom.formats.atomic import atomic_write, check_writable


def test_a_file_appears_whole(tmp_path: Path) -> None:
    """The name does not exist before the block ends, nor does anything stay after."""
    path = tmp_path / "out.bin"
    with atomic_write(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert list(tmp_path.iterdir()) == [path]


def test_what_can_be_written_is_known_before(tmp_path: Path) -> None:
    """A folder that is missing, or in place of the file; nothing is made or changed."""
    path = tmp_path / "out.bin"
    check_writable(path)
    assert not path.exists()
    path.write_bytes(b"before")
    check_writable(path)
    check_writable("/dev/null")
    assert path.read_bytes() == b"before"
    with pytest.raises(InputError, match="no such folder; create"):
        check_writable(tmp_path / "no" / "out.bin")
    with pytest.raises(InputError, match="this is a folder"):
        check_writable(tmp_path)


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, SystemExit, OSError])
@pytest.mark.parametrize("existing", [True, False])
def test_any_failure_leaves_nothing(
    tmp_path: Path, kind: type[BaseException], *, existing: bool
) -> None:
    """No partial file and no temporary one; an existing file keeps its content."""
    path = tmp_path / "out.bin"
    if existing:
        path.write_bytes(b"before")
    with (
        pytest.raises((kind, InputError)),
        atomic_write(path) as file,
    ):
        _fail_after_writing(file, b"x" * 10_000, kind)
    assert list(tmp_path.iterdir()) == ([path] if existing else [])
    if existing:
        assert path.read_bytes() == b"before"


def _fail_after_writing(file: BinaryIO, data: bytes, kind: type[BaseException]) -> None:
    file.write(data)
    raise kind


def test_a_full_disk_is_an_input_error(tmp_path: Path) -> None:
    """What the system says of writing is told in one line about the path."""
    path = tmp_path / "out.bin"
    with pytest.raises(InputError, match="cannot write: No space"), atomic_write(path):
        raise OSError(28, "No space left on device")


def test_errors_about_other_files_pass(tmp_path: Path) -> None:
    """A file that the caller fails to open is not blamed on the output."""
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "out.bin"):
        (tmp_path / "other").open()
    assert list(tmp_path.iterdir()) == []


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    """A missing folder, a folder, a file as folder, a name too long or with a null."""
    (tmp_path / "file").write_bytes(b"")
    for path, what in (
        (tmp_path / "none" / "out", "no such folder"),
        (tmp_path, "this is a folder"),
        (tmp_path / "file" / "out", "no such folder"),
        (tmp_path / ("n" * 300), "too long"),
        ("a\0b", "null byte"),
    ):
        with pytest.raises(InputError, match=what), atomic_write(path) as file:
            file.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    """The refusal of the system is told, not thrown."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    with (
        pytest.raises(InputError, match="cannot write: Permission"),
        atomic_write(folder / "out") as file,
    ):
        file.write(b"x")


def test_permissions_follow_the_umask_and_stay(tmp_path: Path) -> None:
    """New files are as any other; replaced files keep their permissions."""
    path = tmp_path / "out.bin"
    umask = os.umask(0o027)
    try:
        with atomic_write(path) as file:
            file.write(b"1")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    with atomic_write(path) as file:
        file.write(b"2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_links_are_followed(tmp_path: Path) -> None:
    """A symbolic link stays one; what it points at is replaced."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"before")
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert target.read_bytes() == b"after"


def test_devices_are_written_in_place() -> None:
    """/dev/null is not replaced by a file."""
    with atomic_write("/dev/null") as file:
        file.write(b"x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
