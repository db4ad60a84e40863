"""The calls of an iteration as a table: transfers and all-reduces, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError
from lightloom.formats.communication_log import (
    MOST_BYTES,
    AllReduceCall,
    LayerTransfer,
)
from lightloom.formats.text_file import count_of, read_commented_csv

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.formats.communication_log import Call

_COLUMNS = ["call", "bytes", "src", "dst", "nodes"]
_MOST = 2**31 - 1


def read_calls_csv(path: str | Path) -> tuple[Call, ...]:
    """Return the calls of a CSV file, in its order.

    Columns ``call,bytes,src,dst,nodes``. A transfer has ``src`` and ``dst``; those of
    one ``call`` are issued together. An all-reduce has ``nodes``, with spaces between
    them, and no ends; its number of a call has no influence. Lines that begin with
    ``#`` are comments.

    Raises `InputError`: the file cannot be read; `FormatError`: other columns, a value
    out of its domain, a row that is neither, a node twice, or no row; with the line.
    """
    [(where, header), *rows] = read_commented_csv(path, "table of calls")
    if header != _COLUMNS:
        what, found = "other columns than calls have", ",".join(header)
        raise FormatError(what, where=where, found=found, allowed=",".join(_COLUMNS))
    if not rows:
        raise FormatError("a table of calls without rows", where=str(path))
    return tuple(_call(where, row) for where, row in rows)


def _call(where: str, row: list[str]) -> Call:
    call, size, src, dst, nodes = row
    number = count_of(call, f"{where}, call", 0, _MOST)
    size_bytes = count_of(size, f"{where}, bytes", 0, MOST_BYTES)
    if nodes and not src and not dst:
        several = [count_of(one, f"{where}, nodes", 0, _MOST) for one in nodes.split()]
        if len(set(several)) < len(several):
            raise FormatError("a node twice", where=f"{where}, nodes", found=nodes)
        return AllReduceCall(size_bytes, tuple(several))
    if nodes or not src or not dst:
        what = "neither a transfer nor an all-reduce"
        allowed = "src and dst, or nodes"
        raise FormatError(what, where=where, found=",".join(row), allowed=allowed)
    ends = [
        count_of(text, f"{where}, {name}", 0, _MOST)
        for name, text in (("src", src), ("dst", dst))
    ]
    return LayerTransfer(size_bytes, number, backward=False, src=ends[0], dst=ends[1])
