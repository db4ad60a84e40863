"""Records that check themselves where they are made."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from lightloom.core.record_conversion import convert


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
