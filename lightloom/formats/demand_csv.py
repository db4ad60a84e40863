"""Traffic matrices as CSV: N x N tables, and lists of pairs."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError, InputError
from lightloom.formats.compression import open_reading
from lightloom.formats.text_file import MOST_TEXT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES = 2**60 - 1
PAIRS_HEADER = ("src", "dst", "bytes")

_INTEGER = re.compile(r"[0-9]+")
_MOST_DIGITS = len(str(MOST_BYTES))


def read_matrix(
    path: str | Path, *, node_count: int | None = None
) -> list[tuple[int, int, int]]:
    """Return the (src, dst, bytes) rows of a matrix; zeros are left out.

    Line i, column j is what node i sends to node j, in bytes, both from 0; there is
    no header. The table is square, `node_count` wide where that is given.

    `node_count`: number of nodes that the table has to have, ``None`` for any.

    Raises `InputError`: the file cannot be read; `FormatError`: it is empty, not
    square, or holds anything but integers from 0 to 2**60 - 1; the message names file,
    line and column.
    """
    rows: list[tuple[int, int, int]] = []
    count, src = node_count, 0
    for line, fields in _records(path):
        count = len(fields) if count is None else count
        place = f"{path}:{line}"
        if len(fields) != count:
            allowed, found = f"{count} columns, one a node", f"{len(fields)} columns"
            what = "the matrix is not square"
            raise FormatError(what, where=place, found=found, allowed=allowed)
        if src == count:
            what = "the matrix is not square: more lines than columns"
            allowed = f"{count} lines, one a node"
            raise FormatError(what, where=place, allowed=allowed)
        for dst, field in enumerate(fields):
            if size_bytes := _integer(field, f"{place}:{dst + 1}", MOST_BYTES):
                rows.append((src, dst, size_bytes))
        src += 1
    if src != count:
        what = "the file is empty" if count is None else "the matrix is not square"
        allowed = "" if count is None else f"{count} lines, one a node"
        lines = None if count is None else f"{src} lines"
        raise FormatError(what, where=str(path), found=lines, allowed=allowed)
    return rows


def read_pairs(
    path: str | Path, *, node_count: int | None = None
) -> list[tuple[int, int, int]]:
    """Return the (src, dst, bytes) rows of a list of pairs, in file order.

    The first line is the header ``src,dst,bytes``, so that no reader has to guess
    the columns; every other line is a pair. A pair may come several times. Nodes are
    less than `node_count`, where that is given.

    `node_count`: nodes are 0 to `node_count` - 1; any where ``None``.

    Raises `InputError`: the file cannot be read; `FormatError`: it is empty, lacks the
    header, or holds anything but integers from 0 to 2**60 - 1; the message names file,
    line and column.
    """
    rows: list[tuple[int, int, int]] = []
    records = _records(path)
    header = next(records, None)
    if header is None:
        raise FormatError("the file is empty", where=str(path))
    if tuple(name.strip() for name in header[1]) != PAIRS_HEADER:
        what, found = "the first line is not the header", ",".join(header[1])
        allowed = ",".join(PAIRS_HEADER)
        where = f"{path}:{header[0]}"
        raise FormatError(what, where=where, found=found, allowed=allowed)
    last = MOST_BYTES if node_count is None else node_count - 1
    limits = (last, last, MOST_BYTES)
    for line, fields in records:
        place = f"{path}:{line}"
        if len(fields) != len(PAIRS_HEADER):
            allowed = ",".join(PAIRS_HEADER)
            what = "a pair has three columns"
            raise FormatError(what, where=place, found=len(fields), allowed=allowed)
        src, dst, size_bytes = (
            _integer(field, f"{place}:{number + 1}", most)
            for number, (field, most) in enumerate(zip(fields, limits, strict=True))
        )
        rows.append((src, dst, size_bytes))
    if not rows:
        raise FormatError("no pairs after the header", where=str(path))
    return rows


def _records(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of every line; blank lines at the end are none."""
    with open_reading(path, most_bytes=MOST_TEXT_BYTES) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        reader = csv.reader(text, strict=True)
        blank = 0
        try:
            for fields in reader:
                if not any(field.strip() for field in fields):
                    blank = blank or reader.line_num
                    continue
                _refuse_blank_line(blank, path)
                yield reader.line_num, fields
        except FormatError as problem:
            where = problem.where or str(path)
            raise FormatError(
                problem.what, where=where, allowed=problem.allowed, fix=problem.fix
            ) from None
        except UnicodeDecodeError as problem:
            # Decoded by the block: which line it is cannot be known.
            what = f"not UTF-8: {problem.reason}"
            raise FormatError(what, where=str(path)) from None
        except csv.Error as problem:
            place = f"{path}:{reader.line_num + 1}"
            raise FormatError(f"not CSV: {problem}", where=place) from None
        except OSError as problem:
            what = f"cannot read: {problem.strerror or problem}"
            raise InputError(what, where=str(path)) from None


def _refuse_blank_line(line: int, path: str | Path) -> None:
    """Raise if a line before this one was blank; 0 stands for none."""
    if line:
        raise FormatError("a blank line", where=f"{path}:{line}")


def _integer(field: str, place: str, most: int) -> int:
    """Return a field as an integer, or raise naming its place."""
    digits = field.strip()
    if _INTEGER.fullmatch(digits):
        significant = digits.lstrip("0") or "0"
        if len(significant) <= _MOST_DIGITS and int(significant) <= most:
            return int(significant)
    allowed = f"an integer from 0 to {most}"
    shown = digits if len(digits) <= 40 else f"{digits[:40]}..."
    raise FormatError("not allowed here", where=place, found=shown, allowed=allowed)
