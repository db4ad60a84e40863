"""Writers that are killed, crowded or out of room leave whole files, or none."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.formats import atomic
from lightloom.formats.atomic import atomic_write, write_folder
from lightloom.formats.compression import open_reading, open_writing
from tests.cli.program import START

if TYPE_CHECKING:
    from collections.abc import Iterator

SYNTH = ("synth", "ideal-switch-64/all-reduce-64MiB", "--algorithm", "ring", "-o")
BLOCK_BYTES, BLOCKS = 2**14, 64
WRITER = f"""
import random, sys
from lightloom.formats.compression import open_writing
path, seed, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for number in range(rounds):
    draw = random.Random((seed, number).__hash__())
    block = bytes([seed]) + draw.randbytes({BLOCK_BYTES} - 1)
    with open_writing(path) as file:
        for _ in range({BLOCKS}):
            file.write(block)
    print(number, flush=True)
"""


def _writer(path: Path, seed: int, rounds: int) -> subprocess.Popen[bytes]:
    """Start a process that writes `path` again and again, other data each time."""
    command = [sys.executable, "-c", WRITER, str(path), str(seed), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _seed_of(path: Path) -> int:
    """Return whose file this is, after checking that it is one and whole."""
    with open_reading(path) as file:
        data = file.read()
    assert len(data) == BLOCKS * BLOCK_BYTES
    assert data == data[:BLOCK_BYTES] * BLOCKS
    return data[0]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_writer_killed_at_any_moment(tmp_path: Path, suffix: str) -> None:
    """The file is whole after each of many kills, and nothing lies beside it."""
    path = tmp_path / f"out{suffix}"
    draw = seeded_random(7)
    for seed in range(1, 9):
        with _writer(path, seed, 10_000) as child:
            assert child.stdout is not None
            if seed % 2:  # while it replaces its own file, or makes its first
                child.stdout.readline()
            time.sleep(draw.uniform(0.0, 0.2))
            child.kill()
        if path.exists():
            _seed_of(path)
        for left in tmp_path.iterdir():
            # Killed between name and rename, it leaves a copy, but a whole one.
            if left != path and _nameless(tmp_path):
                _seed_of(left.rename(tmp_path / f"left{suffix}"))
                (tmp_path / f"left{suffix}").unlink()
    assert path.exists()


def _nameless(folder: Path) -> bool:
    """Return whether the file system has files without a name."""
    with contextlib.suppress(OSError, AttributeError):
        os.close(os.open(folder, os.O_RDWR | os.O_TMPFILE))
        return True
    return False


def test_nothing_is_named_before_the_end(tmp_path: Path) -> None:
    """There is no file that a kill could leave, whatever was written by then."""
    if not _nameless(tmp_path):
        pytest.skip("the file system has no files without a name")
    with atomic_write(tmp_path / "out") as file:
        file.write(b"x" * 10**6)
        file.flush()
        assert list(tmp_path.iterdir()) == []


def test_two_writers_at_once(tmp_path: Path) -> None:
    """Whoever reads meanwhile sees the file of one of them; one stays at the end."""
    path = tmp_path / "out.gz"
    seen = set()
    with _writer(path, 1, 12) as one, _writer(path, 2, 12) as other:
        while one.poll() is None or other.poll() is None:
            if path.exists():
                seen.add(_seed_of(path))
    assert one.returncode == other.returncode == 0
    assert seen <= {1, 2}
    assert seen
    _seed_of(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("errno_name", ["EOPNOTSUPP", "EISDIR"])
def test_file_systems_without_nameless_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errno_name: str
) -> None:
    """A temporary name does instead; it goes when the writer fails."""
    real = os.open

    def refuse(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            code = getattr(atomic.errno, errno_name)
            raise OSError(code, os.strerror(code))
        return real(path, flags, mode)

    monkeypatch.setattr(atomic.os, "open", refuse)
    path = tmp_path / "out"
    with atomic_write(path) as file:
        file.write(b"data")
        assert [left.suffix for left in tmp_path.iterdir()] == [".tmp"]
    assert path.read_bytes() == b"data"
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [path]


def test_systems_that_refuse_to_name_an_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is copied instead, with its permissions."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(atomic.os, "link", refuse)
    path = tmp_path / "out"
    path.write_bytes(b"before")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write(b"x" * 10**6)
    assert path.read_bytes() == b"x" * 10**6
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


@contextlib.contextmanager
def _largest_file(size_bytes: int) -> Iterator[None]:
    """Let this process write no file beyond a size, as a full disk would not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("room_bytes", [0, 1, 4096, 2**19])
def test_room_that_ends_while_writing(
    tmp_path: Path, suffix: str, room_bytes: int
) -> None:
    """The system's refusal, in one line, wherever it strikes; what was there stays."""
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"before")
    noise = seeded_random(3).randbytes(2**20)
    with (
        pytest.raises(InputError, match="cannot write: File too large") as caught,
        _largest_file(room_bytes),
        open_writing(path) as file,
    ):
        file.write(noise)
    assert caught.value.where == str(path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_without_room_for_all_files_gets_none(
    tmp_path: Path, *, there: bool
) -> None:
    """The small file that would fit is not left behind; what was there stays."""
    folder = tmp_path / "new" / "traces"
    if there:
        folder.mkdir(parents=True)
        (folder / "mine").touch()
    with (
        pytest.raises(InputError, match="cannot write: File too large") as caught,
        _largest_file(4096),
    ):
        write_folder(folder, {"small": b"x", "large": b"x" * 10**6})
    assert caught.value.where == str(folder / "large")
    left = [path.name for path in tmp_path.rglob("*")]
    assert sorted(left) == (["mine", "new", "traces"] if there else [])
    write_folder(folder, {"small": b"x"})
    assert (folder / "small").read_bytes() == b"x"


def _in_namespace(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script where it may mount; $1 is the folder."""
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    return subprocess.run(
        [*command, str(folder), sys.executable, "-c", START, *SYNTH],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def _error(stderr: str) -> str:
    """Return the one line about an error; a slow machine shows progress before it."""
    *before, last = stderr.splitlines()
    assert all(line.startswith("lightloom: synth: ") for line in before), stderr
    start = "lightloom: error: "
    assert last.startswith(start)
    return last.removeprefix(start)


@pytest.fixture
def mountable(tmp_path: Path) -> Path:
    """Return a folder that a child can mount over."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        probe = _in_namespace('mount -t tmpfs none "$1"', folder)
    except FileNotFoundError:
        pytest.skip("no unshare")
    if probe.returncode:
        pytest.skip("mounting is not allowed here")
    return folder


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst"])
def test_a_full_disk(mountable: Path, name: str) -> None:
    """One line, exit code 2, and nothing new on the disk."""
    script = (
        'mount -t tmpfs -o size=16k none "$1"; at=$1; shift\n'
        'cat /dev/zero > "$at/all" 2> /dev/null\n'
        f'"$@" "$at/{name}"; echo "exit $?"; ls -A "$at"'
    )
    done = _in_namespace(script, mountable)
    assert done.stdout == "exit 2\nall\n"
    where = mountable / name
    assert _error(done.stderr) == f"{where}: cannot write: No space left on device"


def test_a_disk_that_is_read_only(mountable: Path) -> None:
    """One line, exit code 2, whoever asks: even root may not write there."""
    script = (
        'mount -t tmpfs -o ro none "$1"; at=$1; shift\n"$@" "$at/out"; echo "exit $?"'
    )
    done = _in_namespace(script, mountable)
    assert done.stdout == "exit 2\n"
    where = mountable / "out"
    assert _error(done.stderr) == f"{where}: cannot write: Read-only file system"


@pytest.mark.parametrize("way", ["device", "stdout"])
def test_a_device_that_is_full(way: str) -> None:
    """/dev/full, as a file and behind stdout: one line, exit code 2."""
    target = "/dev/full" if way == "device" else "-"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", START, *SYNTH, target],
            stdout=full if way == "stdout" else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
            timeout=600,
        )
    assert done.returncode == 2
    assert "no space left" in _error(done.stderr).lower()
