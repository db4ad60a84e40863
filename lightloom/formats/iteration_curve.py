"""Iteration curves: how many iterations a batch size needs, as a table in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError
from lightloom.formats.text_file import count_of, read_commented_csv

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS = ["batch_size", "iterations"]


def read_iteration_curve(path: str | Path) -> dict[int, int]:
    """Return the iterations to an accuracy by batch size, batch sizes rising.

    A CSV file with the columns ``batch_size`` and ``iterations``, both whole numbers of
    at least 1; lines that begin with ``#`` say where the numbers come from.

    Raises `InputError`: the file cannot be read; `FormatError`: other columns, a value
    out of its domain, a batch size twice, or no row at all; with the line.
    """
    [(where, header), *rows] = read_commented_csv(path, "curve")
    if header != _COLUMNS:
        allowed, found = ",".join(_COLUMNS), ",".join(header)
        what = "other columns than a curve has"
        raise FormatError(what, where=where, found=found, allowed=allowed)
    curve: dict[int, int] = {}
    for where, row in rows:
        batch, iterations = (
            count_of(text, f"{where}, {name}")
            for name, text in zip(_COLUMNS, row, strict=True)
        )
        if batch in curve:
            raise FormatError("a batch size twice", where=where, found=batch)
        curve[batch] = iterations
    if not curve:
        raise FormatError("a curve without rows", where=str(path))
    return dict(sorted(curve.items()))
