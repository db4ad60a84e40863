"""Tables: one look for all of them on the terminal, and CSV files."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from lightloom.formats.compression import open_writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.text import TextType


_STYLES = {
    "yes": "green",
    "matches": "green",
    "no": "bold red",
    "differs": "yellow",
    "not reproducible": "cyan",
}

_GAP = 3
"""Between two columns, in `box.SIMPLE_HEAD`."""


@dataclass(frozen=True)
class Column:
    """A column: its heading, and whether it holds numbers (aligned right)."""

    heading: str
    number: bool = False


def _columns(headings: Iterable[Column | str]) -> list[Column]:
    """Return columns; a heading that is a text ending in ``#`` is one of numbers."""
    return [
        heading
        if isinstance(heading, Column)
        else Column(heading.removesuffix("#"), number=heading.endswith("#"))
        for heading in headings
    ]


def markdown_table(
    headings: Iterable[Column | str], rows: Iterable[Sequence[object]]
) -> str:
    """Return rows as a table in Markdown; ``None`` is shown as ``-``."""
    columns = _columns(headings)
    texts = (["-" if cell is None else str(cell) for cell in row] for row in rows)
    lines = [[column.heading for column in columns], *texts]
    written = [f"| {' | '.join(line)} |" for line in lines]
    sides = ("---:" if column.number else "---" for column in columns)
    return "\n".join([written[0], f"|{'|'.join(sides)}|", *written[1:]])


def terminal_table(
    headings: Iterable[Column | str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
) -> Table:
    """Return rows as a table; ``None`` is shown as ``-``, verdicts in colour.

    `headings`: columns, or their headings, with a ``#`` at the end where they hold
    numbers.
    """
    table, columns = _empty(title), _columns(headings)
    drawn = [[_cell(value) for value in row] for row in rows]
    for place, column in enumerate(columns):
        # Texts and headings may be broken between words; a number never is.
        cells = [row[place] for row in drawn]
        texts = [column.heading, *([] if column.number else map(str, cells))]
        words = [Text(word).cell_len for text in texts for word in text.split()]
        numbers = [cell.cell_len for cell in cells] if column.number else []
        table.add_column(
            column.heading,
            justify="right" if column.number else "left",
            min_width=max([*words, *numbers], default=0),
        )
    for row in drawn:
        table.add_row(*row)
    return table


def blocks(table: Table, width: int) -> list[Table]:
    """Return a table as one or several that fit lines of `width`.

    Columns give way to their ``min_width``, the widest first: rich would cut words of
    one while another has room. Those that still do not fit follow in further tables,
    each of which begins with the columns that name a row.

    Returns tables of at most `width`, but where a single column and the names need
    more.
    """
    least = [column.min_width or 1 for column in table.columns]
    names, rest = _names(table, least, width), len(least)
    room = width - sum(least[place] + _GAP for place in range(names))
    if sum(least[names:]) + _GAP * (rest - names - 1) <= room:
        return [_fitted(table, range(rest), width)]
    found, some, taken = [], list[int](), 0
    for place in range(names, rest):
        if some and taken + least[place] > room:
            found.append(_fitted(table, [*range(names), *some], width))
            some, taken = [], 0
        some.append(place)
        taken += least[place] + _GAP
    return [*found, _fitted(table, [*range(names), *some], width)]


def _names(table: Table, least: Sequence[int], width: int) -> int:
    """Return how many columns say what a row is about: texts at the left, in room."""
    names = taken = 0
    for column, wide in zip(table.columns[:-1], least, strict=False):
        taken += wide + _GAP
        if names and (column.justify == "right" or taken > width // 2):
            break
        names += 1
    return names


def _fitted(table: Table, places: Sequence[int], width: int) -> Table:
    """Return some columns of a table, with widths that fit where words allow it."""
    columns = [table.columns[place] for place in places]
    widths = []
    for column in columns:
        texts = [Text(str(column.header)), *(Text(str(cell)) for cell in column.cells)]
        widths.append(max(text.cell_len for text in texts))
    total = sum(widths) + _GAP * (len(widths) - 1)
    while total > width:
        spare = [
            (current, place)
            for place, current in enumerate(widths)
            if current > (columns[place].min_width or 1)
        ]
        if not spare:
            break
        widths[max(spare)[1]] -= 1
        total -= 1
    fitted = _empty(table.title)
    for column, chosen in zip(columns, widths, strict=True):
        fitted.add_column(column.header, justify=column.justify, width=chosen)
    for row in zip(*(column.cells for column in columns), strict=True):
        fitted.add_row(*row)
    return fitted


def _empty(title: TextType | None) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )


def _cell(value: object) -> Text:
    text = "-" if value is None else str(value)
    return Text(text, style=_STYLES.get(text, ""))


def save_csv(
    columns: Sequence[str], rows: Iterable[Sequence[object]], path: Path
) -> None:
    """Write rows under a heading, ``None`` as an empty field, lines ended by LF.

    Names that end in ``.gz`` and ``.zst`` compress. Raises `InputError` if the file
    cannot be written; nothing is left behind.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    with open_writing(path) as file:
        file.write(text.getvalue().encode())
