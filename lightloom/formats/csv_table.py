"""Tables in CSV files: rows under a heading, and demands as matrices or as pairs."""

from __future__ import annotations

import csv
import itertools
import re
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from lightloom.core.errors import FormatError, nearest
from lightloom.core.units import MOST_BYTES
from lightloom.formats.text_file import open_text, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


PAIRS_HEADER = ("src", "dst", "bytes")
_SEPARATORS = ",;\t"
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE]\+?[0-9]{1,2})?")
_NAME = re.compile(r"[^\W\d]")
_MOST_DIGITS = 60
"""Digits of a number of bytes as programs write it, zeros and fraction included."""


class TableRow(NamedTuple):
    """A row: file and line for messages, and the text under each column."""

    where: str
    values: dict[str, str]

    def number(self, column: str, least: int = 0, most: int = 2**31 - 1) -> int:
        """Return the whole number of a column.

        Raises `FormatError` if it is none, or beyond the limits.
        """
        return whole_number(self.values[column], self.place(column), least, most)

    def place(self, column: str) -> str:
        """Return file, line and column, for messages."""
        return f"{self.where}, {column}"


def read_table(
    path: str | Path, noun: str, needed: Sequence[str], optional: Sequence[str] = ()
) -> list[TableRow]:
    """Return the rows of a table, one or more, in the order of the file.

    The first line is the heading: the columns in any order, all that are `needed`. An
    `optional` column that is not there is empty in every row. Values are stripped;
    blank lines and those that begin with ``#`` say nothing. `noun`: what it is a table
    of, for messages.

    Raises `InputError`: the file cannot be read; `FormatError`: it is not CSV, has
    another heading or no rows, or a row has more or fewer values than the heading.
    """
    heading: list[str] | None = None
    rows: list[TableRow] = []
    columns = (*needed, *optional)
    for line, fields in csv_lines(path):
        where = f"{path}:{line}"
        if not any(fields) or fields[0].startswith("#"):
            continue
        if heading is None:
            heading = fields
            _check_heading(heading, where, noun, needed, columns)
            continue
        if len(fields) != len(heading):
            what, allowed = "another number of values than columns", str(len(heading))
            raise FormatError(what, where=where, found=len(fields), allowed=allowed)
        given = dict(zip(heading, fields, strict=True))
        rows.append(TableRow(where, dict.fromkeys(columns, "") | given))
    if not rows:
        raise FormatError(f"{noun} without rows", where=str(path))
    return rows


def _check_heading(
    heading: Sequence[str],
    where: str,
    noun: str,
    needed: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Raise if columns are missing, unknown or there twice."""
    unknown = [name for name in heading if name not in columns]
    missing = [name for name in needed if name not in heading]
    if unknown:
        what = f"the first line is not the heading of {noun}"
    elif missing:
        what = f"a column is missing: {', '.join(missing)}"
    elif len(set(heading)) < len(heading):
        what = "a column is there twice"
    else:
        return
    fix = nearest(unknown[0], columns) if unknown else ""
    raise FormatError(
        what,
        where=where,
        found=",".join(heading)[:100],
        allowed=",".join(columns),
        fix=fix,
    )


def csv_lines(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and stripped fields of every line, a blank one too.

    Commas, semicolons or tabs separate the fields: whatever the first line has most of.

    Raises `InputError`: the file cannot be read; `FormatError`: it is too long, not
    UTF-8 or not CSV, or its compression is damaged.
    """
    with open_text(path) as text:
        first, line = text.readline(), 0
        lines = itertools.chain([first], text)
        separator = max(_SEPARATORS, key=first.count)
        try:
            reader = csv.reader(lines, strict=True, delimiter=separator)
            for fields in reader:
                line = reader.line_num
                yield line, [field.strip() for field in fields]
        except csv.Error as problem:
            place = f"{path}:{line + 1}"
            raise FormatError(f"not CSV: {problem}", where=place) from None


def read_matrix(
    path: str | Path, *, node_count: int | None = None
) -> list[tuple[int, int, int]]:
    """Return the (src, dst, bytes) rows of a matrix; zeros are left out.

    Line i, column j is what node i sends to node j, in bytes, both from 0. The table is
    square, `node_count` wide where that is given, ``None`` for any. It may have a
    heading, and then an index of nodes before the first column, as tables of other
    programs do: both are names, and say nothing. Whole numbers may be written as
    ``1e6`` and ``1000000.0``.

    Raises `InputError`: the file cannot be read; `FormatError`: it is empty, not
    square, or holds anything but integers from 0 to 2**60 - 1; the message names file,
    line and column.
    """
    rows: list[tuple[int, int, int]] = []
    count, src = node_count, 0
    for place, before, fields in _matrix_lines(path, node_count):
        count = len(fields) if count is None else count
        if len(fields) != count:
            allowed, found = f"{count} columns, one a node", f"{len(fields)} columns"
            what = "the matrix is not square"
            raise FormatError(what, where=place, found=found, allowed=allowed)
        if src == count:
            what = "the matrix is not square: more lines than columns"
            allowed = f"{count} lines, one a node"
            raise FormatError(what, where=place, allowed=allowed)
        for dst, field in enumerate(fields):
            if size_bytes := _bytes(field, f"{place}:{before + dst + 1}"):
                rows.append((src, dst, size_bytes))
        src += 1
    if src != count:
        what = "the file is empty" if count is None else "the matrix is not square"
        allowed = "" if count is None else f"{count} lines, one a node"
        lines = None if count is None else f"{src} lines"
        raise FormatError(what, where=str(path), found=lines, allowed=allowed)
    return rows


def _matrix_lines(
    path: str | Path, node_count: int | None
) -> Iterator[tuple[str, int, list[str]]]:
    """Yield the place of each line below a heading, names before, and its values."""
    blank = 0
    heading: list[str] | None = None
    names: int | None = None
    for line, fields in csv_lines(path):
        if not any(fields):
            blank = blank or line
            continue
        if blank:
            raise FormatError("a blank line", where=f"{path}:{blank}")
        if heading is None:
            heading = fields if not fields[0] or _NAME.match(fields[0]) else []
            if heading:
                continue
        if names is None:
            names = int(_has_index(heading, fields, node_count))
        yield f"{path}:{line}", names, fields[names:]


def _has_index(heading: list[str], fields: list[str], node_count: int | None) -> bool:
    """Return whether the first column under a heading names the nodes."""
    if len(heading) < 2:
        return False
    if node_count is not None:
        return len(heading) == node_count + 1
    others = all(map(_NUMBER.fullmatch, heading[1:]))
    return others or not heading[0] or not _NUMBER.fullmatch(fields[0])


def read_pairs(
    path: str | Path, *, node_count: int | None = None
) -> list[tuple[int, int, int]]:
    """Return the (src, dst, bytes) rows of a list of pairs, in file order.

    The columns ``src``, ``dst`` and ``bytes`` have a heading, so that no reader has to
    guess them. A pair may come several times. Nodes are less than `node_count`, where
    that is given, any where ``None``.

    Raises `InputError`: the file cannot be read; `FormatError`: it is empty, lacks the
    heading, or holds anything but integers from 0 to 2**60 - 1; the message names file,
    line and column.
    """
    last = MOST_BYTES if node_count is None else node_count - 1
    return [
        (
            row.number("src", 0, last),
            row.number("dst", 0, last),
            _bytes(row.values["bytes"], row.place("bytes")),
        )
        for row in read_table(path, "pairs", PAIRS_HEADER)
    ]


def _bytes(field: str, place: str) -> int:
    """Return a number of bytes, as an integer or as programs write large numbers."""
    if not field.isdigit() and len(field) <= _MOST_DIGITS and _NUMBER.fullmatch(field):
        value = Decimal(field)
        if value == value.to_integral_value():
            field = str(int(value))
    return whole_number(field, place, 0, MOST_BYTES)
