"""The transfers and all-reduces of an iteration: LUMORPH's logs, and tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lightloom.core.errors import FormatError
from lightloom.core.units import MOST_BYTES
from lightloom.formats.csv_table import read_table
from lightloom.formats.text_file import open_text, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lightloom.formats.csv_table import TableRow

_COLUMNS = ("call", "bytes", "src", "dst", "nodes")
_FORMS = {
    "AR": "AR;bytes;gpu,gpu,...",
    "L2L": "L2L;bytes;layer;direction;src;dst",
}


class AllReduceCall(msgspec.Struct, frozen=True):
    """An all-reduce: its buffer, and the GPUs that take part, distinct, in order."""

    bytes: int
    gpus: tuple[int, ...]


class LayerTransfer(msgspec.Struct, frozen=True):
    """Bytes that follow a layer, forward or backward; within one GPU they are free."""

    bytes: int
    layer: int
    backward: bool
    src: int
    dst: int


Call: TypeAlias = AllReduceCall | LayerTransfer


def read_communication_log(path: str | Path) -> tuple[Call, ...]:
    """Return the calls of a log, in file order.

    A line is ``AR;bytes;gpu,gpu,...``, or ``L2L;bytes;layer;direction;src;dst`` with
    direction 0 forward and 1 backward. Blank lines are skipped. A file that ends in
    ``.gz`` or ``.zst`` is decompressed.

    Raises `InputError`: the file cannot be read; `FormatError`: it has no call, or a
    line of another form: an unknown word, too few or too many fields, a number that is
    not one, a GPU twice in an all-reduce. The message names file, line and field.
    """
    calls: list[Call] = []
    for line, text in _lines(path):
        fields = [field.strip() for field in text.split(";")]
        place = f"{path}:{line}"
        form = _FORMS.get(fields[0])
        if form is None:
            what, allowed = "unknown call", ", ".join(_FORMS)
            shown = fields[0][:40]
            raise FormatError(what, where=place, found=shown, allowed=allowed)
        if len(fields) != form.count(";") + 1:
            what = "fields of a call"
            raise FormatError(what, where=place, found=len(fields), allowed=form)
        read = _all_reduce if fields[0] == "AR" else _transfer
        calls.append(read(fields, place))
    if not calls:
        raise FormatError("no call in the log", where=str(path))
    return tuple(calls)


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of the lines that are not blank."""
    with open_text(path) as lines:
        for number, text in enumerate(lines, 1):
            if text.strip():
                yield number, text


def _all_reduce(fields: list[str], place: str) -> AllReduceCall:
    size = whole_number(fields[1], f"{place}: bytes", 0, MOST_BYTES)
    gpus = [whole_number(text, f"{place}: gpu") for text in fields[2].split(",")]
    if len(set(gpus)) < len(gpus):
        count = Counter(gpus)
        twice = next(gpu for gpu in gpus if count[gpu] > 1)
        raise FormatError("a GPU twice", where=f"{place}: gpu", found=twice)
    return AllReduceCall(size, tuple(gpus))


def _transfer(fields: list[str], place: str) -> LayerTransfer:
    size = whole_number(fields[1], f"{place}: bytes", 0, MOST_BYTES)
    layer = whole_number(fields[2], f"{place}: layer")
    direction = whole_number(fields[3], f"{place}: direction", 0, 1)
    src, dst = (
        whole_number(text, f"{place}: {name}")
        for name, text in zip(("src", "dst"), fields[4:], strict=True)
    )
    return LayerTransfer(size, layer, direction == 1, src, dst)


def read_calls_csv(path: str | Path) -> tuple[Call, ...]:
    """Return the calls of a CSV file, in its order.

    Columns ``call,bytes,src,dst,nodes``. A transfer has ``src`` and ``dst``; those of
    one ``call`` are issued together. An all-reduce has ``nodes``, with spaces between
    them, and no ends; its number of a call has no influence. Lines that begin with
    ``#`` are comments.

    Raises `InputError`: the file cannot be read; `FormatError`: other columns, a value
    out of its domain, a row that is neither, a node twice, or no row; with the line.
    """
    rows = read_table(path, "calls", _COLUMNS)
    return tuple(_call(row) for row in rows)


def _call(row: TableRow) -> Call:
    number, size_bytes = row.number("call"), row.number("bytes", 0, MOST_BYTES)
    nodes, ends = row.values["nodes"], (row.values["src"], row.values["dst"])
    if nodes and not any(ends):
        place = row.place("nodes")
        members = [whole_number(node, place) for node in nodes.split()]
        if len(set(members)) < len(members):
            raise FormatError("a node twice", where=place, found=nodes)
        return AllReduceCall(size_bytes, tuple(members))
    if nodes or not all(ends):
        what = "neither a transfer nor an all-reduce"
        allowed, found = "src and dst, or nodes", ",".join(row.values.values())
        raise FormatError(what, where=row.where, found=found, allowed=allowed)
    src, dst = row.number("src"), row.number("dst")
    return LayerTransfer(size_bytes, number, backward=False, src=src, dst=dst)
