"""Transfers as CSV: ``step,src,dst,chunk_lo,chunk_hi,op``, one line a transfer."""

from __future__ import annotations

import csv
import io
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import column
from lightloom.core.errors import FormatError, InputError
from lightloom.core.schedule import Op, StepPart, Transfers
from lightloom.core.task import Collective
from lightloom.formats.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lightloom.core.schedule import Schedule

TRANSFERS_HEADER = ("step", "src", "dst", "chunk_lo", "chunk_hi", "op")
_OPS = {"copy": Op.COPY, "reduce": Op.REDUCE}
_LARGEST = 2**31 - 1


def read_transfers(path: str | Path) -> tuple[StepPart, ...]:
    """Return the steps in a CSV file, without planes and segments.

    The first line is the header. Steps are integers from 0 that never go back; one
    that is not named has no transfers. ``op`` is ``copy`` or ``reduce``.

    `path`: of the file, decompressed by its suffix; ``-`` for standard input.

    Raises `InputError`: the file cannot be read; `FormatError`: it is empty, lacks the
    header, or a value is invalid; file, line and column are named.
    """
    rows = list(_rows(path))
    if not rows:
        raise FormatError("there are no transfers", where=str(path))
    parts = []
    for step, group in groupby(rows, key=lambda row: row[0]):
        _, src, dst, low, high, op = (column(each) for each in zip(*group, strict=True))
        moved = Transfers(src, dst, low, high, np.asarray(op))
        parts.append(StepPart(step, None, None, moved))
    return tuple(parts)


def transfers_csv(schedule: Schedule) -> str:
    """Return the transfers of a schedule as a table, between ranks.

    Raises `InputError` if its task is a demand.
    """
    task = schedule.task
    if not isinstance(task, Collective):
        what, allowed = "a demand has no chunks", "the schedule of a collective"
        raise InputError(what, where="task", allowed=allowed)
    rank_of = {node: rank for rank, node in enumerate(task.nodes)}
    words = {int(code): word for word, code in _OPS.items()}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(TRANSFERS_HEADER)
    for part in schedule.parts:
        moved = part.transfers
        assert isinstance(moved, Transfers)
        columns = (moved.src, moved.dst, moved.chunk_lo, moved.chunk_hi, moved.op)
        for src, dst, low, high, op in zip(
            *(each.tolist() for each in columns), strict=True
        ):
            ends = (rank_of[src], rank_of[dst])
            writer.writerow((part.index, *ends, low, high, words[op]))
    return stream.getvalue()


def _rows(path: str | Path) -> Iterator[tuple[int, ...]]:
    """Yield the rows as integers, operations as their codes."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    before = 0
    try:
        header = next(reader, None)
        if header is None or tuple(name.strip() for name in header) != TRANSFERS_HEADER:
            raise FormatError(
                "the first line is not the header",
                where=f"{path}:1",
                found=None if header is None else ",".join(header),
                allowed=",".join(TRANSFERS_HEADER),
            )
        for fields in reader:
            where = f"{path}:{reader.line_num}"
            if not fields:
                continue
            if len(fields) != len(TRANSFERS_HEADER):
                raise FormatError(
                    "invalid number of columns",
                    where=where,
                    found=len(fields),
                    allowed=str(len(TRANSFERS_HEADER)),
                )
            row = [
                _integer(field.strip(), f"{where}: {name}")
                for field, name in zip(fields[:5], TRANSFERS_HEADER, strict=False)
            ]
            op = fields[5].strip()
            if op not in _OPS:
                allowed = ", ".join(_OPS)
                raise FormatError(
                    "invalid value", where=f"{where}: op", found=op, allowed=allowed
                )
            if row[0] < before:
                raise FormatError(
                    "steps go back",
                    where=f"{where}: step",
                    found=row[0],
                    allowed=f"{before} or more",
                )
            before = row[0]
            yield (*row, int(_OPS[op]))
    except csv.Error as problem:
        place = f"{path}:{reader.line_num}"
        raise FormatError(f"invalid CSV: {problem}", where=place) from None


def _integer(text: str, where: str) -> int:
    """Return a count from 0."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        allowed = f"an integer from 0 to {_LARGEST}"
        raise FormatError("invalid value", where=where, found=text, allowed=allowed)
    value = int(text)
    if value > _LARGEST:
        allowed = f"an integer from 0 to {_LARGEST}"
        raise FormatError("invalid value", where=where, found=text, allowed=allowed)
    return value
