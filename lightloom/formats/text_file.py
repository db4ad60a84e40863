"""Text files that are read as a whole, up to a limit."""

from __future__ import annotations

import contextlib
from io import TextIOWrapper
from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError
from lightloom.core.units import MIB
from lightloom.formats.compression import open_reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_TEXT_BYTES = 128 * MIB
"""Tables, graphs and logs for people are no longer; in memory they take up to about
thirty times as much."""


@contextlib.contextmanager
def open_text(
    path: str | Path, *, most_bytes: int = MOST_TEXT_BYTES
) -> Iterator[TextIOWrapper]:
    """Open a UTF-8 file for reading, decompressed by its suffix, without a BOM.

    `path`: the file; ``.gz`` and ``.zst`` are decompressed. `most_bytes`: largest
    number of bytes that it may hold. Ends of lines stay as they are.

    Raises `InputError`: the file cannot be read; `FormatError`: it holds more than
    `most_bytes`, is not UTF-8, or its compression is damaged.
    """
    try:
        with open_reading(path, most_bytes=most_bytes) as binary:
            yield TextIOWrapper(binary, encoding="utf-8-sig", newline="")
    except UnicodeDecodeError as problem:
        # Decoded by the block: which line it is cannot be known.
        raise FormatError(f"not UTF-8: {problem.reason}", where=str(path)) from None


def read_text(path: str | Path, *, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return what a file holds, as `open_text` reads it."""
    with open_text(path, most_bytes=most_bytes) as text:
        return text.read()


def whole_number(text: str, where: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """Return a whole number in decimal digits, of which leading zeros say nothing.

    Raises `FormatError`: it is none, or beyond the limits.
    """
    digits = text.strip()
    significant = digits.lstrip("0") or "0"
    if digits.isascii() and digits.isdigit() and len(significant) <= len(str(most)):
        value = int(significant)
        if least <= value <= most:
            return value
    shown = digits if len(digits) <= 40 else f"{digits[:40]}..."
    allowed = f"an integer from {least} to {most}"
    raise FormatError("not a count", where=where, found=shown, allowed=allowed)
