"""Reads schedule files: a stream of lines to a schedule in memory."""

from __future__ import annotations

import functools
import hashlib
import json
import operator
import os
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from lightloom.core.circuit import COLUMNS, Circuits
from lightloom.core.columns import IntArray, Ragged, column
from lightloom.core.errors import FormatError, InputError, nearest
from lightloom.core.record import convert
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Footer,
    Op,
    ParameterValue,
    SealedSchedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Demand
from lightloom.core.units import INT64_MAX
from lightloom.formats.compression import open_reading
from lightloom.formats.schedule_records import (
    COLLECTIVE_KEYS,
    FORMAT_NAME,
    NEW_KEYS,
    RECORDS,
    REQUIRED_KEYS,
    SUPPORTED_VERSIONS,
    Column,
    FooterRecord,
    HeaderRecord,
    OpName,
    Record,
    SegmentRecord,
    StepRecord,
    read_certificates,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from lightloom.core.task import Task


MOST_LINE_BYTES = 2**27
"""Of lines that are not steps: lists of lists take many times as much in memory."""
MOST_STEP_LINE_BYTES = 2**30
"""Bytes of the line of a step, which is decoded whole."""
MOST_LINES = 2**22
"""Each is a record, which takes about a kilobyte in memory beside its columns."""

_STEP = b'{"record":"step",'
_OPS = {op.name.lower(): int(op) for op in Op}
_CHUNKED = ("src", "dst", "chunk_lo", "chunk_hi", "op")
_RELAYED = ("src", "dst", "bytes", "origin", "final")


def read_schedule(
    path: str | Path, told: Callable[[FormatError], None] | None = None
) -> SealedSchedule:
    """Return the schedule in a file; ``-`` is standard input.

    The file is read line by line, decompressed by its suffix. What it says is
    checked for form alone: whether it makes sense is for `lightloom.validate`.

    `told`: takes the error of a hash that differs, which is raised where ``None``.

    Raises `InputError`: the file cannot be opened, or `path` is no path; `FormatError`:
    it is damaged, truncated, of another version, or not a schedule; the message names
    the line.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            "not a schedule",
            found=path,
            allowed="a Schedule, or the path of a file",
            fix="take its .schedule" if hasattr(path, "schedule") else "",
        )
    with open_reading(path) as binary:
        return read_schedule_stream(binary, str(path), told)


def read_schedule_stream(
    binary: BinaryIO, name: str, told: Callable[[FormatError], None] | None = None
) -> SealedSchedule:
    """Return the schedule in an uncompressed stream; `name` is for messages.

    `binary`: the bytes of a schedule file, read once from where it stands. `told`: as
    of `read_schedule`.

    Raises `FormatError`: as `read_schedule`.
    """
    digest = hashlib.sha256()
    assembly: _Assembly | None = None
    number = 0
    for number, line in _lines(binary, name):
        place = f"{name}:{number}"
        if assembly is None:
            assembly = _Assembly(decode_header(line, place), place)
        else:
            assembly.add(line, place)
        if assembly.footer is None:
            digest.update(line)
    if assembly is None:
        raise FormatError("the file is empty", where=name)
    if assembly.footer is None:
        what, fix = "the file is truncated: it has no footer", "write it anew"
        raise FormatError(what, where=f"{name}:{number}", fix=fix)
    if assembly.footer.sha256 != digest.hexdigest():
        problem = FormatError(
            "the file is damaged: its hash differs",
            where=f"{name}:{number}: footer.sha256",
            found=assembly.footer.sha256,
            allowed=digest.hexdigest(),
            fix="write it anew",
        )
        if told is None:
            raise problem
        told(problem)
    return assembly.schedule(assembly.footer, f"{name}:{number}: footer")


def _lines(binary: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line) with its newline."""
    number = 0
    while True:
        place = f"{name}:{number + 1}"
        try:
            line = binary.readline(max(MOST_LINE_BYTES, MOST_STEP_LINE_BYTES) + 1)
        except InputError as problem:
            raise type(problem)(
                problem.what, where=place, allowed=problem.allowed, fix=problem.fix
            ) from None
        if not line:
            return
        _refuse_excess(number + 1, line, place)
        if not line.endswith(b"\n"):
            what, fix = "the file is truncated: a line is cut off", "write it anew"
            raise FormatError(what, where=place, fix=fix)
        number += 1
        yield number, line


def _refuse_excess(number: int, line: bytes, place: str) -> None:
    """Raise if a line is too long, or there are too many of them."""
    if number > MOST_LINES:
        allowed = f"at most {MOST_LINES} lines"
        raise FormatError("the file has too many lines", where=place, allowed=allowed)
    is_step = line.startswith(_STEP)
    most_bytes = MOST_STEP_LINE_BYTES if is_step else MOST_LINE_BYTES
    if len(line) > most_bytes:
        what, allowed = "a line is too long", f"at most {most_bytes} bytes"
        raise FormatError(what, where=place, allowed=allowed)


class _Assembly:
    """Collects records in the order of the file."""

    def __init__(self, header: HeaderRecord, place: str) -> None:
        self.header = header
        self.footer: FooterRecord | None = None
        self._task = _task(header, place)
        self._segments: list[Segment] = []
        self._parts: list[StepPart] = []
        self._used: set[tuple[int, int]] = set()

    def add(self, line: bytes, place: str) -> None:
        """Add a line."""
        if self.footer is not None:
            raise FormatError("a line after the footer", where=place)
        record = decode_record(line, place)
        if isinstance(record, HeaderRecord):
            raise FormatError("a second header", where=place)
        _check_version(record, self.header.version, place)
        if isinstance(record, FooterRecord):
            self.footer = record
        elif isinstance(record, SegmentRecord):
            self._add_segment(record, place)
        else:
            self._add_step(record, place)

    def schedule(self, footer: FooterRecord, place: str) -> SealedSchedule:
        """Return what was collected, with what the footer claims."""
        algorithm = self.header.algorithm
        parameters = cast("dict[str, ParameterValue]", algorithm.parameters)
        return SealedSchedule(
            fabric=self.header.fabric,
            task=self._task,
            algorithm=Algorithm(algorithm.name, parameters, algorithm.seed),
            segments=tuple(self._segments),
            parts=tuple(self._parts),
            footer=Footer(
                segments=footer.segments,
                steps=footer.steps,
                circuits=footer.circuits,
                transfers=footer.transfers,
                completion_time_ps=footer.completion_time_ps,
                certificates=read_certificates(
                    footer.certificate, footer.objectives or (), place
                ),
            ),
            written_by=self.header.written_by,
        )

    def _add_segment(self, record: SegmentRecord, place: str) -> None:
        if (record.plane, record.index) in self._used:
            what = "a segment comes after a step that uses it"
            found = f"plane {record.plane}, segment {record.index}"
            raise FormatError(what, where=place, found=found)
        columns: dict[str, list[int] | list[list[int]]] = {
            "src": record.src,
            "dst": record.dst,
        }
        packed: dict[str, Any] = {}
        for each in COLUMNS:
            values = getattr(record, each.name)
            if values is not UNSET:
                columns[each.name] = values
                pack = Ragged.from_lists if each.ragged else column
                packed[each.name] = pack(values)
        _row_count(columns, f"{place}: segment")
        circuits = Circuits(column(record.src), column(record.dst), **packed)
        self._segments.append(Segment(record.plane, record.index, circuits))

    def _add_step(self, record: StepRecord, place: str) -> None:
        where = f"{place}: step"
        if isinstance(record.plane, UnsetType) or isinstance(record.segment, UnsetType):
            if record.plane is not record.segment:
                what = "a step has a plane and a segment, or neither"
                raise FormatError(what, where=where)
            plane = segment = None
        else:
            plane, segment = record.plane, record.segment
            self._used.add((plane, segment))
        transfers = _transfers(record, where)
        self._parts.append(StepPart(record.index, plane, segment, transfers))


def _check_version(record: Record, version: int, place: str) -> None:
    """Raise if a record has keys that its version lacks, or lacks one it has."""
    has = {
        key
        for key in NEW_KEYS.get(type(record), ())
        if getattr(record, key) is not UNSET
    }
    if version == 1 and has:
        what, fix = "unknown key in a file of version 1", "write it anew"
        found = ", ".join(sorted(has))
        raise FormatError(what, where=place, found=found, fix=fix)
    for key in REQUIRED_KEYS.get(type(record), ()):
        if version > 1 and key not in has:
            raise FormatError(f"missing key {key}", where=f"{place}: {key}")


def _task(header: HeaderRecord, place: str) -> Task:
    """Return the task of a header."""
    given = [
        task
        for task in (header.task.collective, header.task.demand)
        if not isinstance(task, UnsetType)
    ]
    if len(given) != 1:
        what, allowed = "a schedule has one task", "collective, or demand"
        found = "both" if given else "neither"
        where = f"{place}: header.task"
        raise FormatError(what, where=where, found=found, allowed=allowed)
    if header.version == 1 and isinstance(given[0], Demand) and given[0].relays:
        what, fix = "unknown key in a file of version 1", "write it anew"
        where = f"{place}: header.task.demand"
        raise FormatError(what, where=where, found="relays", fix=fix)
    return given[0]


def _transfers(record: StepRecord, where: str) -> Transfers | FluidTransfers:
    """Return the rows of a step; single values are spread over all rows."""
    columns: dict[str, Column | OpName | list[OpName]] = {
        name: value
        for name in (*_CHUNKED, *_RELAYED[2:])
        if (value := getattr(record, name)) is not UNSET
    }
    fluid = set(columns) in ({*_RELAYED[:3]}, {*_RELAYED})
    if not fluid and set(columns) != {*_CHUNKED}:
        what = "a step has chunk_lo, chunk_hi and op; or bytes, with origin and final"
        raise FormatError(what, where=where, found=sorted(columns))
    rows = _row_count(columns, where)
    if fluid:
        given = [name for name in _RELAYED if name in columns]
        return FluidTransfers(*(_spread(columns[name], rows) for name in given))
    return Transfers(*(_spread(columns[name], rows) for name in _CHUNKED))


def _row_count(columns: Mapping[str, object], where: str) -> int:
    """Return the number of rows, or raise if columns differ in it."""
    lengths = {
        name: len(value) for name, value in columns.items() if isinstance(value, list)
    }
    if len(set(lengths.values())) > 1:
        raise FormatError("columns differ in length", where=where, found=lengths)
    return max(lengths.values(), default=1)


def _spread(value: object, rows: int) -> IntArray:
    """Return a column of `rows` integers; operations become their codes."""
    if isinstance(value, str):
        value = _OPS[value]
    if isinstance(value, int):
        return np.full(rows, value, dtype=np.int64)
    assert isinstance(value, list)
    if value and isinstance(value[0], str):
        return column(_OPS[name] for name in value)
    return np.array(value, dtype=np.int64)


_DECODER = msgspec.json.Decoder(functools.reduce(operator.or_, RECORDS.values()))


def decode_record(line: bytes, place: str) -> Record:
    """Return the record of any line but the first.

    Raises `FormatError`: not UTF-8, not JSON, not an object, unknown record or key, a
    key given twice, wrong type, an integer outside 64 bits.
    """
    try:
        record: Record = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise _explained(line, place, problem) from None
    _refuse_repeated_keys(record, line, place)
    if isinstance(record, HeaderRecord | FooterRecord):
        kind = "header" if isinstance(record, HeaderRecord) else "footer"
        _refuse_wide_integers(msgspec.to_builtins(record), f"{place}: {kind}")
    return record


def decode_header(line: bytes, place: str) -> HeaderRecord:
    """Return the record of the first line.

    Raises `FormatError`: as `decode_record`; also another kind of file, or another
    version of it.
    """
    table = _table(line, place)
    if table.get("record") != "header" or table.get("format") != FORMAT_NAME:
        what = "not a schedule: the first line is no header of one"
        allowed = f'"record":"header","format":"{FORMAT_NAME}"'
        found = {key: table[key] for key in ("record", "format") if key in table}
        raise FormatError(what, where=place, found=found or None, allowed=allowed)
    version = table.get("version")
    if type(version) is int and version not in SUPPORTED_VERSIONS:
        raise FormatError(
            "unsupported version of the schedule file",
            where=f"{place}: header.version",
            found=version,
            allowed=", ".join(map(str, SUPPORTED_VERSIONS)),
            fix="read it with the program that wrote it, or a newer one",
        )
    header = cast("HeaderRecord", decode_record(line, place))
    _refuse_missing_keys(table, place)
    return header


def _refuse_missing_keys(table: dict[str, object], place: str) -> None:
    """Raise if the task of a header relies on a default, or has a null for one."""
    task = table["task"]
    collective = task.get("collective") if isinstance(task, dict) else None
    if not isinstance(collective, dict):
        return
    where = f"{place}: header.task.collective"
    for key in COLLECTIVE_KEYS:
        if key not in collective:
            raise FormatError(f"missing key {key!r}", where=where, fix="add it")
    for key, value in collective.items():
        if value is None:
            what, fix = "a key without a value", "leave the key out"
            raise FormatError(what, where=f"{where}.{key}", found="null", fix=fix)


def _table(line: bytes, place: str) -> dict[str, object]:
    """Return the object on a line."""
    try:
        table = msgspec.json.decode(line)
    except UnicodeDecodeError as problem:
        what = f"not UTF-8: {problem.reason}"
        raise FormatError(what, where=place) from None
    except msgspec.DecodeError as problem:
        what = f"not JSON: {problem}"
        raise FormatError(what, where=place) from None
    except RecursionError:
        what = "not a record: nested too deeply"
        raise FormatError(what, where=place) from None
    if not isinstance(table, dict):
        what, allowed = "not a record", "one JSON object a line"
        raise FormatError(what, where=place, allowed=allowed)
    return table


def _explained(line: bytes, place: str, problem: Exception) -> FormatError:
    """Return what is wrong with a line that did not decode."""
    table = _table(line, place)
    name = table.pop("record", None)
    if not isinstance(name, str) or name not in RECORDS:
        what = "a line without record" if name is None else "unknown record"
        allowed, fix = ", ".join(RECORDS), nearest(str(name), RECORDS)
        return FormatError(what, where=place, found=name, allowed=allowed, fix=fix)
    convert(table, RECORDS[name], where=f"{place}: {name}", error=FormatError)
    return FormatError(str(problem), where=place)


def _refuse_repeated_keys(record: Record, line: bytes, place: str) -> None:
    """Raise if a key is given twice: readers would disagree on what it says."""
    if isinstance(record, SegmentRecord | StepRecord):
        # No string in these records holds a colon, so colons count keys.
        given = sum(value is not msgspec.UNSET for value in _values(record))
        if line.count(b":") == given + 1:
            return
        raise FormatError("a key is given twice", where=place)
    json.loads(line, object_pairs_hook=lambda pairs: _unrepeated(pairs, place))


def _values(record: Record) -> list[object]:
    """Return the values of a record's fields."""
    return [getattr(record, name) for name in record.__struct_fields__]


def _unrepeated(pairs: list[tuple[str, object]], place: str) -> dict[str, object]:
    """Return the object of (key, value) pairs, or raise if a key repeats."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise FormatError("a key is given twice", where=place)
    return table


def _refuse_wide_integers(value: object, place: str) -> None:
    """Raise if an integer anywhere in `value` does not fit 64 bits."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_wide_integers(inner, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for row, inner in enumerate(value):
            _refuse_wide_integers(inner, f"{place}[{row}]")
    elif isinstance(value, int) and not -INT64_MAX - 1 <= value <= INT64_MAX:
        what, allowed = "integer too large", "-2**63 to 2**63 - 1"
        raise FormatError(what, where=place, found=value, allowed=allowed)
