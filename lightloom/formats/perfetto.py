"""Perfetto traces: the trace-event JSON that ui.perfetto.dev opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lightloom.formats.compression import open_writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def write_trace(events: Iterable[Mapping[str, object]], path: str | Path) -> None:
    """Write trace events as one JSON object, an event a line, atomically.

    `events` are tables of the trace-event format (``ph``, ``ts`` and ``dur`` in
    microseconds, ...); `decimal.Decimal` values are written digit by digit, so
    picoseconds survive. Perfetto opens ``.gz`` too.

    `path`: the file; ``.gz`` and ``.zst`` are compressed, ``-`` is standard output.

    Raises `InputError`: the file cannot be written.
    """
    encoder = msgspec.json.Encoder(decimal_format="number")
    with open_writing(path) as file:
        file.write(b'{"displayTimeUnit":"ns","traceEvents":[')
        separator = b"\n"
        for event in events:
            file.write(separator + encoder.encode(event))
            separator = b",\n"
        file.write(b"\n]}\n")
