"""FlexFlow operator profiles: measured times of operators, cut in several ways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from lightloom.core.errors import FormatError
from lightloom.formats.json_file import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.formats.json_file import JsonFile

_Count = Annotated[int, Meta(ge=1, le=2**40)]
_Milliseconds = Annotated[float, Meta(ge=0, le=1_000_000)]
_Bytes = Annotated[int, Meta(ge=0, le=2**60 - 1)]

_PS_PER_MS = 10**9
_CUT = re.compile(r"[1-9][0-9]{0,8}(-[1-9][0-9]{0,8})+")
_DIMENSIONS = {
    1: ("sample",),
    2: ("channel", "sample"),
    3: ("channel", "spatial", "sample"),
    4: ("spatial", "spatial", "channel", "sample"),
}
"""Dimensions in FlexFlow's order, the innermost first."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measurement as it stands in the file."""

    name: Annotated[str, Meta(min_length=1)]
    pc_str: str
    fw_time: _Milliseconds
    bw_time: _Milliseconds
    mem_req: _Bytes


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    batch_size: _Count
    ngpus: _Count
    measurements: Annotated[list[_Row], Meta(min_length=1)]


class Measurement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator in one cut, measured on one GPU.

    `name`: flexFlow's name of the operator and its shape, for example ``Dense_1024_1``.
    `parts`: parts along each dimension that is cut, as (dimension, parts) with more
    than one part; empty for the whole operator. `forward_ps`, `backward_ps`: time of
    one part in picoseconds.
    """

    name: str
    parts: tuple[tuple[str, int], ...]
    forward_ps: int
    backward_ps: int
    memory_bytes: int


class OperatorProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The measurements of a run.

    `batch_size`: samples of the whole batch, of which a part has its share.
    `measurements`: rows in file order; (name, parts) are distinct.
    """

    path: str
    batch_size: int
    gpus: int
    measurements: tuple[Measurement, ...]


def read_flexflow_profile(path: str | Path) -> OperatorProfile:
    """Return an operator profile.

    ``pc_str`` is ``<dimensions>-<parts of each>``, the innermost dimension first and
    the samples last, as in ``4-1-1-1-16``. Times are milliseconds in the file and are
    rounded to the picosecond.

    Raises `InputError`: the file cannot be read; `FormatError`: it is not JSON or has
    another form; a time or size is negative or absurd; a cut cannot be read, or comes
    twice for one operator. The message names file, line and field.
    """
    file = read_json(path)
    raw = file.convert(_File)
    seen: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
    rows = []
    for number, row in enumerate(raw.measurements):
        field = f"measurements[{number}].pc_str"
        parts = _parts(row.pc_str, file, field)
        if (row.name, parts) in seen:
            what = f"the cut of {row.name} was measured before"
            raise FormatError(what, where=file.place(field), found=row.pc_str)
        seen.add((row.name, parts))
        rows.append(
            Measurement(
                name=row.name,
                parts=parts,
                forward_ps=round(row.fw_time * _PS_PER_MS),
                backward_ps=round(row.bw_time * _PS_PER_MS),
                memory_bytes=row.mem_req,
            )
        )
    return OperatorProfile(file.path, raw.batch_size, raw.ngpus, tuple(rows))


def _parts(text: str, file: JsonFile, field: str) -> tuple[tuple[str, int], ...]:
    """Return the parts along each dimension that is cut."""
    numbers = [int(part) for part in text.split("-")] if _CUT.fullmatch(text) else [0]
    count, *given = numbers
    if count not in _DIMENSIONS or len(given) != count:
        what, where = "not a cut", file.place(field)
        allowed = "the number of dimensions, then the parts of each, joined by '-'"
        raise FormatError(what, where=where, found=text, allowed=allowed)
    total: dict[str, int] = {}
    for dimension, parts in zip(_DIMENSIONS[count], given, strict=True):
        total[dimension] = total.get(dimension, 1) * parts
    return tuple((key, parts) for key, parts in sorted(total.items()) if parts > 1)
