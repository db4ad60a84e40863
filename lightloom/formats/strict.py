"""Strict conversion of decoded tables to records, with errors that carry the path."""

from __future__ import annotations

import re
from typing import TypeVar, cast

import msgspec

from lightloom.core.errors import InputError, nearest

RecordT = TypeVar("RecordT")

_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")
_LONGEST_FOUND = 100
_EXPECTED = re.compile(r"^Expected (?P<expected>.*?)(?:, got .*)?$")


def convert(
    table: object,
    record: type[RecordT],
    *,
    where: str,
    error: type[InputError] = InputError,
) -> RecordT:
    """Return `table` as a `record`, or say exactly what is wrong with it.

    Parameters
    ----------
    table
        Plain dicts, lists and scalars, as a decoder leaves them.
    record
        A ``msgspec.Struct`` type that forbids unknown fields.
    where
        File and place in it, for messages.
    error
        Error class to raise.

    Raises
    ------
    InputError
        Unknown key (nearest names suggested), missing key, wrong type, value out
        of its domain.
    """
    if isinstance(table, dict):
        _refuse_unknown_keys(table, record, where, error)
    try:
        return msgspec.convert(table, record)
    except msgspec.ValidationError as problem:
        raise _described(problem, table, where, error) from None
    except RecursionError:
        raise error("nested too deeply", where=where) from None


def _refuse_unknown_keys(
    table: dict[str, object],
    record: type[RecordT],
    where: str,
    error: type[InputError],
) -> None:
    struct = cast("type[msgspec.Struct]", record)
    fields = [info.encode_name for info in msgspec.structs.fields(struct)]
    for key in table:
        if key not in fields:
            what = f"unknown key {_shown(key)!r}"
            allowed = ", ".join(fields)
            raise error(what, where=where, allowed=allowed, fix=nearest(key, fields))


def _described(
    problem: msgspec.ValidationError,
    table: object,
    where: str,
    error: type[InputError],
) -> InputError:
    text = str(problem)
    if isinstance(problem.__cause__, InputError):
        cause = problem.__cause__
        return error(
            cause.what,
            where=where,
            found=cause.found,
            allowed=cause.allowed,
            fix=cause.fix,
        )
    match = _PATH.search(text)
    path = match["path"] if match else "$"
    text = _PATH.sub("", text)
    place = where + path.removeprefix("$")
    if expected := _EXPECTED.match(text):
        allowed = expected["expected"].replace("`", "")
        return error(
            "value not allowed",
            where=place,
            found=_shown(_at(table, path)),
            allowed=allowed,
        )
    return error(text[0].lower() + text[1:], where=place)


def _at(table: object, path: str) -> object:
    """Return the value that a msgspec path such as ``$.src[3]`` points at."""
    value = table
    for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        try:
            value = value[name] if name else value[int(index)]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _shown(value: object) -> object:
    """Return `value`, or what it is in words where it is too long for a line."""
    if isinstance(value, list | dict) and len(value) * 2 > _LONGEST_FOUND:
        kind = "array" if isinstance(value, list) else "object"
        return f"{kind} of {len(value)}"
    if isinstance(value, int):
        digits = value.bit_length() * 3 // 10
        return value if digits <= _LONGEST_FOUND else f"integer of {digits} digits"
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= _LONGEST_FOUND else f"{text[:_LONGEST_FOUND]}..."
