"""One line of a schedule file to its record, with errors that name the place."""

from __future__ import annotations

import functools
import json
import operator
from typing import cast

import msgspec

from lightloom.core.errors import FormatError, nearest
from lightloom.core.record_conversion import convert
from lightloom.formats.schedule_records import (
    COLLECTIVE_KEYS,
    FORMAT_NAME,
    RECORDS,
    SUPPORTED_VERSIONS,
    FooterRecord,
    HeaderRecord,
    Record,
    SegmentRecord,
    StepRecord,
)

_INT64_MAX = 2**63 - 1

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
    elif isinstance(value, int) and not -_INT64_MAX - 1 <= value <= _INT64_MAX:
        what, allowed = "integer too large", "-2**63 to 2**63 - 1"
        raise FormatError(what, where=place, found=value, allowed=allowed)
