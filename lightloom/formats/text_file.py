"""Text files that are read as a whole, up to a limit."""

from __future__ import annotations

import csv
from pathlib import Path

from lightloom.core.errors import FormatError, InputError
from lightloom.core.units import MIB
from lightloom.formats.compression import open_reading

MOST_TEXT_BYTES = 128 * MIB
"""Tables, graphs and logs for people are no longer; in memory they take up to about
thirty times as much."""


def read_text(path: str | Path, *, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return what a UTF-8 file holds, decompressed by its suffix, without a BOM.

    `path`: the file; ``.gz`` and ``.zst`` are decompressed. `most_bytes`: largest
    number of bytes that it may hold.

    Raises `InputError`: the file cannot be read; `FormatError`: it holds more than
    `most_bytes`, is not UTF-8, or its compression is damaged.
    """
    try:
        with open_reading(path, most_bytes=most_bytes) as source:
            return source.read().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise FormatError(f"not UTF-8: {problem.reason}", where=str(path)) from None
    except OSError as problem:
        what = f"cannot read: {problem.strerror or problem}"
        raise InputError(what, where=str(path)) from None


_MOST = 2**40


def read_commented_csv(path: str | Path, noun: str) -> list[tuple[str, list[str]]]:
    """Return the rows of a table, the heading first, each with where it stands.

    Empty lines and those that begin with ``#`` are left out; values are stripped.

    Raises `InputError`: the file cannot be read; `FormatError`: it is not text, it
    holds no rows, or a row has more or fewer values than the heading.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as problem:
        what = f"cannot read the {noun}: {problem.strerror}"
        raise InputError(what, where=str(path)) from None
    except UnicodeDecodeError:
        raise FormatError("not a text file", where=str(path)) from None
    rows: list[tuple[str, list[str]]] = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            [values] = csv.reader([line])
            rows.append((f"{path}:{number}", [value.strip() for value in values]))
    for where, values in rows[1:]:
        if len(values) != len(rows[0][1]):
            what, allowed = "another number of values than columns", len(rows[0][1])
            raise FormatError(
                what, where=where, found=len(values), allowed=str(allowed)
            )
    if not rows:
        raise FormatError(f"a {noun} without rows", where=f"{path}:1")
    return rows


def count_of(text: str, where: str, least: int = 1, most: int = _MOST) -> int:
    """Return a whole number.

    Raises `FormatError`: it is none, or beyond the limits.
    """
    value = int(text) if text.isascii() and text.removeprefix("-").isdigit() else None
    if value is None or not least <= value <= most:
        allowed = f"{least} to {most}"
        raise FormatError("not a count", where=where, found=text, allowed=allowed)
    return value
