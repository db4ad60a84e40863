"""Results files: JSON lines, one a run, appended and synced, never rewritten.

The first line says what the file is. A row is written in one call and synced before
the next, so a kill leaves whole lines; a line that is cut off all the same, by a full
disk or a copy that stopped half way, is refused with its number, as is a file of
another version. Two sweeps cannot append to one file at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Self

import msgspec

from lightloom import __version__
from lightloom.bench.result_row import Row
from lightloom.core.errors import FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = "lightloom-results"
VERSION = 1
_MOST_LINE_BYTES = 2**24
"""No row is this long; whatever has such a line is another kind of file."""


class _Header(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="record",
    tag="header",
):
    """The first line."""

    format: Literal["lightloom-results"]
    version: int
    written_by: str


_ROW = msgspec.json.Decoder(Row)
_HEADER = msgspec.json.Decoder(_Header)


def read_results(path: str | Path) -> tuple[Row, ...]:
    """Return the rows of a results file, in the order they were written.

    Raises
    ------
    InputError
        The file cannot be read.
    FormatError
        It is no results file, one of another version, or damaged; with the line.
    """
    if not str(path):
        raise InputError("the name of the results file is empty")
    try:
        with Path(path).open("rb") as file:
            return tuple(_rows(file, str(path)))
    except OSError as problem:
        what = f"cannot read the results: {(problem.strerror or str(problem)).lower()}"
        raise InputError(what, where=str(path)) from None


class ResultsFile:
    """A results file that is being appended to; others are kept from it meanwhile.

    Parameters
    ----------
    path
        An existing file is checked line by line and continued; a missing one is made.

    Raises
    ------
    InputError
        It cannot be read or written, or another sweep is writing to it.
    FormatError
        It is no results file, one of another version, or damaged. Nothing is changed.

    Attributes
    ----------
    rows
        What it held when it was opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o666)
        except OSError as problem:
            raise self._refused("cannot open the results", problem) from None
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            self.rows = self._begin()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file, for others to append."""
        self._file.close()

    def append(self, row: Row) -> None:
        """Write a row, and return when it is on the disk.

        Raises
        ------
        InputError
            The disk is full, for example; what was written of the row is taken back.
        """
        self._write(msgspec.json.encode(row) + b"\n")

    def _begin(self) -> tuple[Row, ...]:
        """Lock the file; return its rows, or give an empty one its header."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            what, fix = "another sweep is writing here", "wait, or name another file"
            raise InputError(what, where=self.path, fix=fix) from None
        except OSError as problem:
            raise self._refused("cannot lock the results", problem) from None
        if os.fstat(self._file.fileno()).st_size:
            return read_results(self.path)
        header = _Header("lightloom-results", VERSION, f"lightloom {__version__}")
        self._write(msgspec.json.encode(header) + b"\n")
        return ()

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._file.fileno()).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file.fileno(), line[written:])
            os.fsync(self._file.fileno())
        except OSError as problem:
            with contextlib.suppress(OSError):  # a device has no end to cut
                os.ftruncate(self._file.fileno(), before)
            raise self._refused("cannot write the results", problem) from None

    def _refused(self, what: str, problem: OSError) -> InputError:
        reason = (problem.strerror or str(problem)).lower()
        return InputError(f"{what}: {reason}", where=self.path)


def _rows(file: BinaryIO, where: str) -> Iterator[Row]:
    """Yield the rows of an open file."""
    number = 0
    for number, line in enumerate(_lines(file), start=1):
        place = f"{where} line {number}"
        if number == 1:
            _check_header(line, place)
            continue
        if not line.endswith(b"\n"):
            fix = f"keep the lines before it: head -n {number - 1} FILE > NEW"
            raise FormatError("the line is cut off", where=place, fix=fix)
        try:
            yield _ROW.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            what = f"not a row of results: {problem}"
            fix = "remove the line, or name another file"
            raise FormatError(what, where=place, fix=fix) from None
    if not number:
        raise FormatError("the file is empty", where=where)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_MOST_LINE_BYTES):
        yield line


def _check_header(line: bytes, place: str) -> None:
    """Refuse what does not begin like a results file of this version."""
    fix = "name another file; this one is left as it is"
    try:
        found = msgspec.json.decode(line)
        kind, version = found["format"], found["version"]
        if (kind, version) == (FORMAT, VERSION):
            _HEADER.decode(line)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        LookupError,
        TypeError,
    ):
        raise FormatError("not a results file", where=place, fix=fix) from None
    if kind != FORMAT:
        what = "not a results file"
        raise FormatError(what, where=place, found=kind, allowed=FORMAT, fix=fix)
    if version != VERSION:
        what, allowed = "results of another version", f"{FORMAT} {VERSION}"
        raise FormatError(what, where=place, found=version, allowed=allowed, fix=fix)
    if not line.endswith(b"\n"):
        raise FormatError("the line is cut off", where=place, fix=fix)
