"""Records that check themselves where they are made."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
import msgspec.inspect

from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable


class CheckedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record whose fields have their types and domains, however it was made.

    `msgspec` checks what it decodes; this base has it check what Python code passes to
    the constructor as well, with the messages of a file: the place is then
    ``Class.field``. NumPy integers become integers, arrays, lists and ranges become
    tuples where the field is one. A number with a fraction, even .0, is no integer.

    A subclass with a ``__post_init__`` of its own calls this one first. About 2
    microseconds a record.

    Raises
    ------
    InputError
        If a value has the wrong type, or is out of its domain.
    """

    def __post_init__(self) -> None:
        twin = _twin(type(self))
        try:
            checked = msgspec.convert(self, twin, from_attributes=True)
        except msgspec.ValidationError:
            table = {
                name: plain(getattr(self, name)) for name in self.__struct_fields__
            }
            checked = convert(table, twin, where=type(self).__name__)
        for name in self.__struct_fields__:
            value = getattr(checked, name)
            if value is not getattr(self, name):
                msgspec.structs.force_setattr(self, name, value)


@functools.cache
def _twin(record: type[CheckedRecord]) -> type[msgspec.Struct]:
    """Return a record of the same fields that has no constructor of its own."""
    fields: list[Any] = [
        (field.name, field.type) for field in msgspec.structs.fields(record)
    ]
    return msgspec.defstruct(record.__name__, fields, forbid_unknown_fields=True)


def plain(value: object) -> object:
    """Return a value without NumPy's types, its sequences as lists.

    Parameters
    ----------
    value
        Anything; what is neither NumPy's nor a sequence nor a dict stays as it is.
    """
    if hasattr(value, "tolist"):  # an array, or a number of NumPy's
        listed: object = value.tolist()
        return listed
    if isinstance(value, list | tuple | range):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {plain(key): plain(entry) for key, entry in value.items()}
    return value


RecordT = TypeVar("RecordT")

_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")
_LONGEST_FOUND = 100
"""Characters of a value in a message, about a line."""
_EXPECTED = re.compile(r"^Expected (?P<expected>.*?)(?:, got .*)?$")
_MISSING = re.compile(r"^Object missing required field `(?P<key>[^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<key>[^`]*)`$")
_NO_CHOICE = re.compile(r"^Invalid (?:enum )?value ")
_WORDS = {
    "int": "integer",
    "float": "number",
    "str": "text",
    "bool": "true or false",
    "array": "list",
    "null": "nothing",
}
_WORD = re.compile(rf"\b({'|'.join(_WORDS)})\b")


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
        raise _described(problem, table, record, where, error) from None
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
            allowed = ", ".join(fields) or "none"
            raise error(what, where=where, allowed=allowed, fix=nearest(key, fields))


def _described(
    problem: msgspec.ValidationError,
    table: object,
    record: type[RecordT],
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
    if missing := _MISSING.match(text):
        return error(f"missing key {missing['key']!r}", where=place, fix="add it")
    if unknown := _UNKNOWN.match(text):
        allowed = _choices(msgspec.inspect.type_info(record), _steps(path))
        what = f"unknown key {_shown(unknown['key'])!r}"
        fix = nearest(unknown["key"], allowed.split(", "))
        return error(what, where=place, allowed=allowed, fix=fix)
    expected = _EXPECTED.match(text)
    if expected or _NO_CHOICE.match(text):
        if expected:
            allowed = _in_words(expected["expected"])
        else:
            allowed = _choices(msgspec.inspect.type_info(record), _steps(path))
        return error(
            "value not allowed",
            where=place,
            found=_shown(_at(table, path)),
            allowed=allowed,
        )
    return error(text[0].lower() + text[1:], where=place)


def _in_words(expected: str) -> str:
    """Return the types that msgspec expects, in words."""
    words = _WORD.sub(lambda name: _WORDS[name[0]], expected.replace("`", ""))
    return words.replace(" | ", " or ")


def _steps(path: str) -> list[str | int]:
    """Return the keys and indices of a msgspec path such as ``$.src[3]``."""
    found = re.findall(r"\.(\w+)|\[(\d+)\]", path)
    return [name or int(index) for name, index in found]


def _choices(kind: msgspec.inspect.Type, steps: list[str | int]) -> str:
    """Return the values, or keys, that a type names where the steps lead."""
    inspect = msgspec.inspect
    if isinstance(kind, inspect.Metadata):
        return _choices(kind.type, steps)
    if isinstance(kind, inspect.UnionType):
        return ", ".join(filter(None, (_choices(one, steps) for one in kind.types)))
    values: Iterable[object] = ()
    if isinstance(kind, inspect.StructType):
        fields = {field.encode_name: field.type for field in kind.fields}
        inner = fields.get(str(steps[0])) if steps else None
        if inner is not None:
            return _choices(inner, steps[1:])
        values = () if steps else fields
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType) and steps:
        return _choices(kind.item_type, steps[1:])
    elif isinstance(kind, inspect.LiteralType):
        values = kind.values
    elif isinstance(kind, inspect.EnumType):
        values = (one.value for one in kind.cls)
    return ", ".join(map(str, values))


def _at(table: object, path: str) -> object:
    """Return the value that a msgspec path such as ``$.src[3]`` points at."""
    value: Any = table
    for step in _steps(path):
        try:
            value = value[step]
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
