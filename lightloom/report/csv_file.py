"""Rows of a figure as a CSV file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from lightloom.formats.compression import open_writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


def save_csv(
    columns: Sequence[str], rows: Iterable[Sequence[object]], path: Path
) -> None:
    """Write rows under a heading, ``None`` as an empty field, lines ended by LF.

    Parameters
    ----------
    columns
        The heading.
    rows
        A value for each column.
    path
        The file; ``.gz`` and ``.zst`` compress.

    Raises
    ------
    InputError
        If the file cannot be written; nothing is left behind.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    with open_writing(path) as file:
        file.write(text.getvalue().encode())
