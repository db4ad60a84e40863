"""Results files: appended, resumed, and refused rather than overwritten."""

from __future__ import annotations

import multiprocessing
import os
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.bench.results import ResultsFile, read_results
from lightloom.core.errors import FormatError, InputError
from tests.bench.rows import row_of

if TYPE_CHECKING:
    from pathlib import Path

ROWS = tuple(row_of(name, trace=((0.5, 1.0, None),)) for name in "abc")


def written(folder: Path) -> Path:
    """Return a results file of three rows."""
    path = folder / "results.jsonl"
    with ResultsFile(path) as file:
        for row in ROWS:
            file.append(row)
    return path


def test_what_was_appended_is_read(tmp_path: Path) -> None:
    """Every field of every row comes back, and a second sweep continues."""
    path = written(tmp_path)
    assert read_results(path) == ROWS
    before = path.read_bytes()
    with ResultsFile(path) as file:
        assert file.rows == ROWS
        file.append(ROWS[0])
    assert path.read_bytes().startswith(before)
    assert read_results(path) == (*ROWS, ROWS[0])


def test_a_file_cut_anywhere_is_refused_or_whole(tmp_path: Path) -> None:
    """A cut in the middle of a line is named by its number; nothing is changed."""
    whole = written(tmp_path).read_bytes()
    ends = {place + 1 for place, byte in enumerate(whole) if byte == ord("\n")}
    path = tmp_path / "cut.jsonl"
    cuts = {*range(1, len(whole), 7), *ends, *(end - 1 for end in ends)} - {len(whole)}
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        if cut in ends:
            kept = whole[:cut].count(b"\n") - 1
            assert read_results(path) == ROWS[:kept]
            continue
        line = whole[:cut].count(b"\n") + 1
        with pytest.raises(FormatError, match=f"line {line}"):
            ResultsFile(path)
        assert path.read_bytes() == whole[:cut]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"version":1', b'"version":2', "another version"),
        (b"lightloom-results", b"lightloom-schedule", "not a results file"),
        (b'"record":"run"', b'"record":"ran"', "line 2"),
        (b'"seed":0', b'"seed":"0"', "line 2"),
        (b'"seed":0', b'"sede":0', "line 2"),
        (b'"ending":"proven optimal"', b'"ending":"fine"', "line 2"),
    ],
)
def test_other_files_are_refused(
    old: bytes, new: bytes, words: str, tmp_path: Path
) -> None:
    """Other versions and other rows are told, and left as they are."""
    path = written(tmp_path)
    changed = path.read_bytes().replace(old, new, 1)
    path.write_bytes(changed)
    with pytest.raises(FormatError, match=words):
        ResultsFile(path)
    assert path.read_bytes() == changed


@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_are_refused(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    """Whatever a file holds, the error is ours."""
    path = tmp_path_factory.mktemp("junk") / "results.jsonl"
    path.write_bytes(junk)
    with pytest.raises(FormatError):
        read_results(path)
    with pytest.raises(FormatError):
        ResultsFile(path)
    assert path.read_bytes() == junk


def _hold(path: str, ready: object, done: object) -> None:
    with ResultsFile(path):
        ready.set()  # type: ignore[attr-defined]
        done.wait(30)  # type: ignore[attr-defined]


def test_two_sweeps_do_not_share_a_file(tmp_path: Path) -> None:
    """The second one is told; reading is allowed meanwhile."""
    path = written(tmp_path)
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Event(), spawn.Event()
    other = spawn.Process(target=_hold, args=(str(path), ready, done))
    other.start()
    try:
        assert ready.wait(30)
        with pytest.raises(InputError, match="another sweep"):
            ResultsFile(path)
        assert read_results(path) == ROWS
    finally:
        done.set()
        other.join()
    ResultsFile(path).__exit__()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """So is a file that cannot be read, and one that is a folder."""
    with pytest.raises(InputError, match="cannot open the results"):
        ResultsFile(tmp_path / "missing" / "results.jsonl")
    with pytest.raises(InputError, match="cannot read the results"):
        read_results(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="cannot"):
        ResultsFile(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_is_told() -> None:
    """The error has the reason, and no traceback."""
    with pytest.raises(InputError, match="no space left"):
        ResultsFile("/dev/full")


def test_rows_say_what_they_are() -> None:
    """A line can be told from other lines by its first key."""
    assert msgspec.json.encode(ROWS[0]).startswith(b'{"record":"run","key":')
