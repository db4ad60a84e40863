"""Iteration curves: how many iterations a batch size needs, as a table in a file."""

from __future__ import annotations

import csv
from pathlib import Path

from lightloom.core.errors import FormatError, InputError

__all__ = ["read_iteration_curve"]

_COLUMNS = ["batch_size", "iterations"]
_MOST = 2**40


def read_iteration_curve(path: str | Path) -> dict[int, int]:
    """Return the iterations to an accuracy by batch size, batch sizes rising.

    A CSV file with the columns ``batch_size`` and ``iterations``, both whole numbers of
    at least 1; lines that begin with ``#`` say where the numbers come from.

    Raises
    ------
    InputError
        The file cannot be read.
    FormatError
        Other columns, a value out of its domain, a batch size twice, or no row at all;
        with the line.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        what = f"cannot read the curve: {problem.strerror}"
        raise InputError(what, where=str(path)) from None
    except UnicodeDecodeError:
        raise FormatError("not a text file", where=str(path)) from None
    kept = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    rows = list(csv.reader(line for _, line in kept))
    header = [name.strip() for name in rows[0]] if rows else []
    if header != _COLUMNS:
        allowed = ",".join(_COLUMNS)
        where = f"{path}:{kept[0][0] if kept else 1}"
        found = ",".join(header) or "nothing"
        raise FormatError(
            "other columns than a curve has", where=where, found=found, allowed=allowed
        )
    curve: dict[int, int] = {}
    for (number, _), row in zip(kept[1:], rows[1:], strict=True):
        where = f"{path}:{number}"
        if len(row) != len(_COLUMNS):
            what = "not two values"
            raise FormatError(what, where=where, found=len(row), allowed="2")
        batch, iterations = (
            _count(text, f"{where}, {name}")
            for name, text in zip(_COLUMNS, row, strict=True)
        )
        if batch in curve:
            what = "a batch size twice"
            raise FormatError(what, where=where, found=batch)
        curve[batch] = iterations
    if not curve:
        raise FormatError("a curve without rows", where=str(path))
    return dict(sorted(curve.items()))


def _count(text: str, where: str) -> int:
    """Return a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= _MOST:
        allowed = f"1 to {_MOST}"
        raise FormatError(
            "not a count", where=where, found=text.strip(), allowed=allowed
        )
    return value
