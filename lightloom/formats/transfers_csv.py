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
from lightloom.formats.csv_table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lightloom.core.schedule import Schedule

TRANSFERS_HEADER = ("step", "src", "dst", "chunk_lo", "chunk_hi", "op")
_OPS = {"copy": Op.COPY, "reduce": Op.REDUCE}


def read_transfers(path: str | Path) -> tuple[StepPart, ...]:
    """Return the steps in a CSV file, without planes and segments.

    The first line is the heading. Steps are integers from 0 that never go back; one
    that is not named has no transfers. ``op`` is ``copy`` or ``reduce``.

    `path`: of the file, decompressed by its suffix; ``-`` for standard input.

    Raises `InputError`: the file cannot be read; `FormatError`: it is empty, lacks the
    heading, or a value is invalid; file, line and column are named.
    """
    parts = []
    for step, group in groupby(_rows(path), key=lambda row: row[0]):
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
    before = 0
    for row in read_table(path, "transfers", TRANSFERS_HEADER):
        step, *moved = (row.number(name) for name in TRANSFERS_HEADER[:5])
        op = row.values["op"]
        if op not in _OPS:
            what, allowed = "invalid value", ", ".join(_OPS)
            raise FormatError(what, where=row.place("op"), found=op, allowed=allowed)
        if step < before:
            what, allowed = "steps go back", f"{before} or more"
            place = row.place("step")
            raise FormatError(what, where=place, found=step, allowed=allowed)
        before = step
        yield (step, *moved, int(_OPS[op]))
