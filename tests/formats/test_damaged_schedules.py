"""Damaged, foreign and malformed schedule files are refused with their line."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import FormatError, InputError
from lightloom.formats import compression, schedule_reader
from lightloom.formats.schedule_reader import read_schedule, read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines

DATA = Path(__file__).parent / "data"
GOOD = (DATA / "all-gather-2x2.v1.jsonl").read_bytes()
LINES = GOOD.splitlines(keepends=True)


def _refusal(data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read_schedule_stream(io.BytesIO(data), "f.jsonl")
    assert "\n" not in str(caught.value)
    return caught.value


def _sealed(lines: list[bytes]) -> bytes:
    """Return a file of the lines with a footer whose hash is right."""
    footer = json.loads(LINES[-1])
    footer["sha256"] = hashlib.sha256(b"".join(lines)).hexdigest()
    return b"".join(lines) + json.dumps(footer).encode() + b"\n"


def _edited(line: int, **changes: object) -> bytes:
    """Return the good file with keys of a line changed, ``...`` to remove them."""
    table: dict[str, Any] = json.loads(LINES[line])
    for key, value in changes.items():
        if value is ...:
            del table[key]
        else:
            table[key] = value
    lines = [*LINES[:line], json.dumps(table).encode() + b"\n", *LINES[line + 1 : -1]]
    return _sealed(lines)


def test_the_good_file_is_good() -> None:
    """The file that the tests damage is read, sealed anew as well."""
    read_schedule_stream(io.BytesIO(GOOD), "f.jsonl")
    read_schedule_stream(io.BytesIO(_sealed(LINES[:-1])), "f.jsonl")


def test_white_space_of_json_changes_nothing() -> None:
    """Carriage returns and blanks around an object are read, and hashed."""
    good = read_schedule_stream(io.BytesIO(GOOD), "f.jsonl")
    for before, after in ((b"", b"\r\n"), (b" \t", b"\n"), (b"", b" \r\n")):
        lines = [before + line.rstrip(b"\n") + after for line in LINES[:-1]]
        same = read_schedule_stream(io.BytesIO(_sealed(lines)), "f.jsonl")
        assert list(schedule_lines(same)) == list(schedule_lines(good))


@pytest.mark.parametrize("kept", range(len(LINES)))
def test_truncated_after_a_line(kept: int) -> None:
    """A file that ends after any line but the last has no footer."""
    error = _refusal(b"".join(LINES[:kept]))
    assert error.where == (f"f.jsonl:{kept}" if kept else "f.jsonl")
    assert ("truncated" if kept else "empty") in error.what


@settings(max_examples=200, deadline=None)
@given(st.integers(1, len(GOOD) - 1))
def test_truncated_anywhere(length: int) -> None:
    """A file cut at any byte is refused, the last newline included."""
    assert "truncated" in _refusal(GOOD[:length]).what


def test_every_flipped_bit_above_the_footer() -> None:
    """Each single bit of each line but the footer is guarded by syntax or hash."""
    body = len(GOOD) - len(LINES[-1])
    for position in range(0, body, 3):
        bit = 1 << (position * 5 % 8)
        damaged = bytearray(GOOD)
        damaged[position] ^= bit
        error = _refusal(bytes(damaged))
        assert re.match(r"f\.jsonl:\d+", error.where), error


def test_every_flipped_bit_of_the_footer() -> None:
    """The footer's keys, hash and newline are guarded; its numbers `verify` checks."""
    start = len(GOOD) - len(LINES[-1])
    good = json.loads(LINES[-1])
    for position in range(start, len(GOOD)):
        for bit in range(8):
            damaged = bytearray(GOOD)
            damaged[position] ^= 1 << bit
            schedule = None
            with contextlib.suppress(FormatError):
                schedule = read_schedule_stream(io.BytesIO(bytes(damaged)), "f.jsonl")
            if schedule is None:
                continue
            footer = schedule.footer
            assert footer is not None
            numbers = {
                name: getattr(footer, name) for name in good if name in dir(footer)
            }
            assert numbers != {name: good[name] for name in numbers}


@pytest.mark.parametrize("line", range(1, len(LINES) - 1))
def test_a_line_lost_or_doubled_or_moved(line: int) -> None:
    """The hash sees lines that go missing, come twice or change places."""
    _refusal(b"".join(LINES[:line] + LINES[line + 1 :]))
    _refusal(b"".join(LINES[: line + 1] + LINES[line:]))
    swapped = list(LINES)
    swapped[line], swapped[line - 1] = swapped[line - 1], swapped[line]
    _refusal(b"".join(swapped))


HEADER, SEGMENT, STEP = 0, 1, 2


def _of_a_pair(**keys: object) -> bytes:
    """Return the file with another collective in its header."""
    task = {"op": "broadcast", "nodes": [0, 1], "buffer_bytes": 8, **keys}
    return _edited(HEADER, task={"collective": task})


EDITS = {
    "newer version": (_edited(HEADER, version=3), "unsupported version", 1),
    "version 0": (_edited(HEADER, version=0), "unsupported version", 1),
    "version in words": (_edited(HEADER, version="1"), "not allowed", 1),
    "no version": (_edited(HEADER, version=...), "missing", 1),
    "another format": (_edited(HEADER, format="x"), "not a schedule", 1),
    "no header": (_sealed(LINES[1:-1]), "not a schedule", 1),
    "second header": (_sealed([LINES[0], *LINES[:-1]]), "second header", 2),
    "unknown key": (_edited(SEGMENT, wavelength_s=[]), "unknown key", 2),
    "unknown key in the task": (
        _edited(HEADER, task={"collective": {"op": "x", "rot": 1}}),
        "unknown key",
        1,
    ),
    "unknown record": (_edited(STEP, record="stepp"), "unknown record", 3),
    "no record": (_edited(STEP, record=...), "without record", 3),
    "record that is a number": (_edited(STEP, record=3), "unknown record", 3),
    "missing key": (_edited(STEP, src=...), "missing", 3),
    "two tasks": (
        _edited(
            HEADER,
            task={
                "collective": {"op": "x", "nodes": [], "buffer_bytes": 1},
                "demand": {"src": [], "dst": [], "bytes": []},
            },
        ),
        "one task",
        1,
    ),
    "no task": (_edited(HEADER, task={}), "one task", 1),
    "null for the root": (_of_a_pair(chunks=2, root=None), "without a value", 1),
    "null for the chunks": (_of_a_pair(chunks=None), "without a value", 1),
    "float": (_edited(STEP, index=0.5), "not allowed", 3),
    "integral float": (_edited(STEP, index=0.0), "not allowed", 3),
    "true for an integer": (_edited(STEP, index=True), "not allowed", 3),
    "negative index": (_edited(STEP, index=-1), "not allowed", 3),
    "word in a column": (_edited(STEP, src=[0, 1, 2, "3"]), "not allowed", 3),
    "null in a column": (_edited(STEP, src=[0, 1, 2, None]), "not allowed", 3),
    "null for a column": (_edited(STEP, src=None), "not allowed", 3),
    "unknown operation": (_edited(STEP, op="add"), "allowed: copy, reduce", 3),
    "columns that differ": (_edited(STEP, src=[0, 1, 2]), "differ in length", 3),
    "operations that differ": (_edited(STEP, op=["copy"]), "differ in length", 3),
    "circuits that differ": (_edited(SEGMENT, route=[[0, 1]]), "differ in length", 2),
    "integer of 64 bits": (_edited(STEP, chunk_hi=2**63), "not allowed", 3),
    "integer of 90 bits": (_edited(STEP, src=[0, 1, 2, -(2**90)]), "not allowed", 3),
    "wide wavelength": (
        _edited(SEGMENT, wavelengths=[[0], [0], [0], [2**63]]),
        "not allowed",
        2,
    ),
    "wide fabric value": (_edited(HEADER, fabric={"rows": 2**63}), "too large", 1),
    "plane without segment": (_edited(STEP, segment=...), "or neither", 3),
    "segment without plane": (_edited(STEP, plane=...), "or neither", 3),
    "chunks and bytes": (_edited(STEP, bytes=5), "or bytes", 3),
    "neither chunks nor bytes": (
        _edited(STEP, chunk_lo=..., chunk_hi=..., op=...),
        "or bytes",
        3,
    ),
    "chunks without op": (_edited(STEP, op=...), "or bytes", 3),
    "segment after its step": (
        _sealed([LINES[0], LINES[2], LINES[1], *LINES[3:-1]]),
        "after a step",
        3,
    ),
    "line after the footer": (GOOD + LINES[2], "after the footer", 7),
    "second footer": (GOOD + LINES[-1], "after the footer", 7),
    "empty line": (_sealed([LINES[0], b"\n", *LINES[1:-1]]), "not JSON", 2),
    "list": (_sealed([LINES[0], b"[1]\n", *LINES[1:-1]]), "not a record", 2),
    "deep nesting": (
        _sealed([LINES[0], b'{"a":' * 100_000 + b"\n", *LINES[1:-1]]),
        "nested too deeply",
        2,
    ),
    "not JSON": (_sealed([LINES[0], b"hello\n", *LINES[1:-1]]), "not JSON", 2),
    "two objects on a line": (
        _sealed([LINES[0], LINES[1].strip() + LINES[2], *LINES[3:-1]]),
        "not JSON",
        2,
    ),
    "not UTF-8": (
        _sealed([LINES[0].replace(b"direct", b"dir\xffct"), *LINES[1:-1]]),
        "not UTF-8",
        1,
    ),
    "key given twice in a step": (
        _sealed([*LINES[:2], LINES[2].replace(b"}", b',"op":"copy"}'), *LINES[3:-1]]),
        "given twice",
        3,
    ),
    "key given twice in the header": (
        _sealed([LINES[0].replace(b"{", b'{"version":1,', 1), *LINES[1:-1]]),
        "given twice",
        1,
    ),
    "hash of another file": (
        b"".join(LINES[:-1])
        + LINES[-1].replace(b'sha256":"', b'sha256":"0')[:-4]
        + b'"}\n',
        "hash differs",
        6,
    ),
    "hash in capitals": (
        b"".join(LINES[:-1]) + LINES[-1].replace(b'256":"', b'256":"A')[:-4] + b'"}\n',
        "regex",
        6,
    ),
    "certificates of objectives in version 1": (
        b"".join(LINES[:-1]) + LINES[-1].replace(b'"sha', b'"objectives":[],"sha'),
        "unknown key in a file of version 1",
        6,
    ),
    "column of version 2 in version 1": (
        _edited(SEGMENT, multicast=[-1] * 4),
        "unknown key in a file of version 1",
        2,
    ),
    "no certificates of objectives in version 2": (
        _edited(HEADER, version=2),
        "missing key objectives",
        6,
    ),
    "no certificate key": (
        b"".join(LINES[:-1]) + LINES[-1].replace(b'"certificate":null,', b""),
        "missing",
        6,
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_every_malformed_file_names_its_line(name: str) -> None:
    """What is wrong and the line it is on, even where the hash is right."""
    data, what, line = EDITS[name]
    error = _refusal(data)
    assert what in str(error)
    assert re.match(rf"f\.jsonl:{line}\b", error.where), error


def test_messages_name_the_place_in_the_line() -> None:
    """A path such as step.src[3] follows file and line; near names are suggested."""
    error = _refusal(_edited(STEP, src=[0, 1, 2, "3"]))
    assert error.where == "f.jsonl:3: step.src[3]"
    assert error.found == "3"
    error = _refusal(_edited(SEGMENT, wavelength_s=[]))
    assert error.fix.startswith("did you mean wavelengths")
    error = _refusal(_edited(HEADER, version=3))
    assert error.where == "f.jsonl:1: header.version"
    assert (error.found, error.allowed) == (3, "1, 2")


def test_messages_stay_short() -> None:
    """A column in the wrong place is not printed in full."""
    error = _refusal(_edited(STEP, index=list(range(10_000))))
    assert len(str(error)) < 200


def test_semantic_faults_are_not_the_readers() -> None:
    """Self circuits, empty ranges and false counts are read, for `verify` to report."""
    for line, change in (
        (SEGMENT, {"dst": [0, 1, 2, 3]}),
        (STEP, {"chunk_hi": [0, 0, 0, 0]}),
        (STEP, {"src": [-1, 99, 2, 3]}),
        (STEP, {"segment": 5}),
        (STEP, {"index": 7}),
    ):
        data = _edited(line, **change)
        read_schedule_stream(io.BytesIO(data), "f.jsonl")


def test_a_line_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are read up to a limit, not into memory without end."""
    monkeypatch.setattr(schedule_reader, "MOST_LINE_BYTES", len(LINES[0]))
    read_schedule_stream(io.BytesIO(GOOD), "f.jsonl")
    monkeypatch.setattr(schedule_reader, "MOST_LINE_BYTES", len(LINES[0]) - 1)
    error = _refusal(GOOD)
    assert (error.where, error.what) == ("f.jsonl:1", "a line is too long")
    monkeypatch.setattr(schedule_reader, "MOST_LINE_BYTES", len(LINES[0]))
    monkeypatch.setattr(schedule_reader, "MOST_STEP_LINE_BYTES", len(LINES[0]))
    read_schedule_stream(io.BytesIO(GOOD), "f.jsonl")
    monkeypatch.setattr(schedule_reader, "MOST_STEP_LINE_BYTES", len(LINES[2]) - 1)
    assert _refusal(GOOD).what == "a line is too long"


def test_too_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are counted, so that short ones without end do not fill the memory."""
    monkeypatch.setattr(schedule_reader, "MOST_LINES", len(LINES))
    read_schedule_stream(io.BytesIO(GOOD), "f.jsonl")
    monkeypatch.setattr(schedule_reader, "MOST_LINES", len(LINES) - 1)
    error = _refusal(GOOD)
    assert error.where == f"f.jsonl:{len(LINES)}"
    assert error.what == "the file has too many lines"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_compression(tmp_path: Path, suffix: str) -> None:
    """Truncated, flipped or foreign compressed data are refused, not half read."""
    packed = gzip.compress(GOOD) if suffix == ".gz" else zstandard.compress(GOOD)
    path = tmp_path / f"f.jsonl{suffix}"
    path.write_bytes(packed)
    read_schedule(path)
    middle = len(packed) // 2
    flipped = bytearray(packed)
    flipped[middle] ^= 0x10
    for damaged in (packed[:middle], packed[: len(packed) - 20], flipped, GOOD):
        path.write_bytes(bytes(damaged))
        with pytest.raises(FormatError) as caught:
            read_schedule(path)
        assert re.match(rf"{re.escape(str(path))}:\d+", caught.value.where)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_pieces_follow_one_another(tmp_path: Path, suffix: str) -> None:
    """Files laid end to end by `cat`, as both formats allow, read as one."""
    pack = gzip.compress if suffix == ".gz" else zstandard.compress
    path = tmp_path / f"f.jsonl{suffix}"
    path.write_bytes(pack(LINES[0]) + pack(b"") + pack(b"".join(LINES[1:])))
    read_schedule(path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_bomb_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that grows without reason is refused before it fills the memory."""
    monkeypatch.setattr(compression, "FREE_BYTES", 2**20)
    monkeypatch.setattr(compression, "MOST_RATIO", {".gz": 900, ".zst": 900})
    bomb = LINES[0] + b" " * 2**24
    pack = gzip.compress if suffix == ".gz" else zstandard.compress
    path = tmp_path / f"f.jsonl{suffix}"
    path.write_bytes(pack(bomb))
    with pytest.raises(FormatError, match="grows without reason"):
        read_schedule(path)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    """A missing file, a folder and a null byte are input errors in one line."""
    for path in (tmp_path / "none.jsonl", tmp_path, "a\0b", tmp_path / "none.gz"):
        with pytest.raises(InputError, match="cannot read"):
            read_schedule(path)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_noise_is_refused(noise: bytes) -> None:
    """Arbitrary bytes, also after a good header, never crash the reader."""
    _refusal(noise)
    _refusal(LINES[0] + noise)
