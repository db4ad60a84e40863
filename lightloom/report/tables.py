"""Terminal tables: one look for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def terminal_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
) -> Table:
    """Return rows as a table; ``None`` is shown as ``-``, verdicts in colour.

    Parameters
    ----------
    columns
        Headings, in order.
    rows
        One value for each column; shown as `str` says.
    title
        Line above the table.
    """
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
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


def fit(table: Table, width: int) -> int:
    """Set the widths of a table's columns for lines of `width`.

    The widest gives way first, and none below its ``min_width``; rich would cut words
    of one while another has room.

    Parameters
    ----------
    table
        Its columns are given widths.
    width
        Characters of a line.

    Returns
    -------
    The width of the table: more than `width` where it does not fit.
    """
    widths = []
    for column in table.columns:
        texts = [Text(str(column.header)), *(Text(str(cell)) for cell in column.cells)]
        widths.append(max(text.cell_len for text in texts))
    total = sum(widths) + _GAP * (len(widths) - 1)
    while total > width:
        spare = [
            (current, place)
            for place, current in enumerate(widths)
            if current > (table.columns[place].min_width or 1)
        ]
        if not spare:
            break
        widths[max(spare)[1]] -= 1
        total -= 1
    for column, chosen in zip(table.columns, widths, strict=True):
        column.width = chosen
    return total


def _cell(value: object) -> Text:
    text = "-" if value is None else str(value)
    return Text(text, style=_STYLES.get(text, ""))
