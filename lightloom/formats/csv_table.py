"""Tables in CSV files: lines of fields, and rows under a heading that is checked."""

from __future__ import annotations

import csv
import itertools
from typing import TYPE_CHECKING, NamedTuple

from lightloom.core.errors import FormatError, nearest
from lightloom.formats.text_file import open_text, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SEPARATORS = ",;\t"


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
