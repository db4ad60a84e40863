"""Text files that are read as a whole, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError, InputError
from lightloom.core.units import MIB
from lightloom.formats.compression import open_reading

if TYPE_CHECKING:
    from pathlib import Path

MOST_TEXT_BYTES = 128 * MIB
"""Tables, graphs and logs for people are no longer; in memory they take up to about
thirty times as much."""


def read_text(path: str | Path, *, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return what a UTF-8 file holds, decompressed by its suffix, without a BOM.

    `path`: the file; ``.gz`` and ``.zst`` are decompressed. `most_bytes`: largest
    number of bytes that it may hold.

    Raises `InputError`: the file cannot be read; `FormatError`: it holds more than
    `most_bytes`, is not UTF-8, or its compression is damaged.
    """
    try:
        with open_reading(path, most_bytes=most_bytes) as source:
            return source.read().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise FormatError(f"not UTF-8: {problem.reason}", where=str(path)) from None
    except OSError as problem:
        what = f"cannot read: {problem.strerror or problem}"
        raise InputError(what, where=str(path)) from None


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
