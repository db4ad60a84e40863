"""Writes schedule files: a schedule in memory to a stream of lines."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np
from msgspec import UNSET

from lightloom import __version__
from lightloom.core.circuit import COLUMNS
from lightloom.core.errors import InputError
from lightloom.core.schedule import FluidTransfers, Op
from lightloom.core.task import Collective
from lightloom.formats.compression import open_writing
from lightloom.formats.schedule_records import (
    FORMAT_NAME,
    VERSION,
    AlgorithmRecord,
    FooterRecord,
    OpName,
    Parameter,
    Record,
    SegmentLine,
    SegmentRecord,
    StepRecord,
    stored_certificates,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule, Segment, StepPart
    from lightloom.core.task import Task

_OP_NAMES = tuple(op.name.lower() for op in sorted(Op))


def write_schedule(schedule: Schedule, path: str | Path) -> None:
    """Write a schedule as a file of the newest version, atomically.

    Compressed by suffix (``.gz``, ``.zst``); ``-`` is standard output. The same
    schedule gives the same bytes.

    Raises `InputError`: the schedule has no footer, or the file cannot be written.
    """
    with open_writing(path) as file:
        for line in schedule_lines(schedule):
            file.write(line)


def schedule_lines(schedule: Schedule) -> Iterator[bytes]:
    """Yield the lines of a schedule file, newlines included.

    Segments keep their order and come as late as that allows: all up to a segment
    just before the first step that uses it, and those that no step uses at the end.

    Raises `InputError`: the schedule has no footer, or one with several certificates of
    the completion time, or an operation is no `Op`.
    """
    footer = schedule.footer
    if footer is None:
        what, fix = "the schedule has no footer", "replay it and fill the footer in"
        raise InputError(what, where="schedule", fix=fix)
    encoder = msgspec.json.Encoder()
    digest = hashlib.sha256()
    for record in _body(schedule):
        line = encoder.encode(record) + b"\n"
        digest.update(line)
        yield line
    certificate, objectives = stored_certificates(footer.certificates)
    last = FooterRecord(
        segments=footer.segments,
        steps=footer.steps,
        circuits=footer.circuits,
        transfers=footer.transfers,
        completion_time_ps=footer.completion_time_ps,
        certificate=certificate,
        objectives=objectives,
        sha256=digest.hexdigest(),
    )
    yield encoder.encode(last) + b"\n"


def _body(schedule: Schedule) -> Iterator[Record | msgspec.Raw]:
    """Yield every record but the footer."""
    yield _header(schedule)
    place = {
        (segment.plane, segment.index): row
        for row, segment in enumerate(schedule.segments)
    }
    written = 0
    for part in schedule.parts:
        needed = -1
        if part.plane is not None and part.segment is not None:
            needed = place.get((part.plane, part.segment), -1)
        while written <= needed:
            yield _segment(schedule.segments[written])
            written += 1
        yield _step(part)
    for segment in schedule.segments[written:]:
        yield _segment(segment)


def _header(schedule: Schedule) -> msgspec.Raw:
    """Return the header; its task is written without nulls."""
    algorithm = schedule.algorithm
    header = {
        "record": "header",
        "format": FORMAT_NAME,
        "version": VERSION,
        "written_by": schedule.written_by or f"lightloom {__version__}",
        "fabric": schedule.fabric,
        "task": _task(schedule.task),
        "algorithm": AlgorithmRecord(
            algorithm.name,
            cast("dict[str, Parameter]", algorithm.parameters),
            algorithm.seed,
        ),
    }
    return msgspec.Raw(msgspec.json.encode(header))


def _task(task: Task) -> dict[str, dict[str, object]]:
    """Return the task under its kind, keys without a value left out."""
    kind = "collective" if isinstance(task, Collective) else "demand"
    table = msgspec.to_builtins(task)
    return {kind: {key: value for key, value in table.items() if value is not None}}


def _segment(segment: Segment) -> SegmentRecord:
    circuits = segment.circuits
    columns: dict[str, Any] = {}
    for each in COLUMNS:
        values = getattr(circuits, each.name)
        if values is not None:
            columns[each.name] = values.to_lists() if each.ragged else values.tolist()
    return SegmentLine(
        plane=int(segment.plane),
        index=int(segment.index),
        src=circuits.src.tolist(),
        dst=circuits.dst.tolist(),
        **columns,
    )


def _step(part: StepPart) -> StepRecord:
    transfers = part.transfers
    index = int(part.index)
    plane = UNSET if part.plane is None else int(part.plane)
    segment = UNSET if part.segment is None else int(part.segment)
    src, dst = transfers.src.tolist(), transfers.dst.tolist()
    if isinstance(transfers, FluidTransfers):
        origin, final = (
            UNSET if ends is None else ends.tolist()
            for ends in (transfers.origin, transfers.final)
        )
        return StepRecord(
            index=index,
            plane=plane,
            segment=segment,
            src=src,
            dst=dst,
            bytes=transfers.bytes.tolist(),
            origin=origin,
            final=final,
        )
    return StepRecord(
        index=index,
        plane=plane,
        segment=segment,
        src=src,
        dst=dst,
        chunk_lo=transfers.chunk_lo.tolist(),
        chunk_hi=transfers.chunk_hi.tolist(),
        op=_ops(transfers.op, index),
    )


def _ops(codes: IntArray, step: int) -> OpName | list[OpName]:
    """Return the names of operations, one for all where they agree."""
    if not len(codes):
        return "copy"
    least, most = int(codes.min()), int(codes.max())
    if least < 0 or most >= len(_OP_NAMES):
        allowed = ", ".join(f"{int(op)} ({op.name.lower()})" for op in Op)
        found = least if least < 0 else most
        where = f"step {step}"
        raise InputError("unknown operation", where=where, found=found, allowed=allowed)
    if least == most:
        return cast("OpName", _OP_NAMES[least])
    names: list[OpName] = np.array(_OP_NAMES, dtype=object)[codes].tolist()
    return names
