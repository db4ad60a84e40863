"""TOML files to plain tables, within limits."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.units import MIB
from lightloom.formats.text_file import read_text

if TYPE_CHECKING:
    from pathlib import Path

MOST_TOML_BYTES = 16 * MIB
"""Longer data belong into a file of their own, which TOML files can name."""
MOST_KEY_PARTS = 32
"""A key such as ``a.b.c`` has three parts. The parser's time is quadratic in them."""

_TOKEN = re.compile(
    r"""(?P<part>[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+(?:"|$)|'[^'\n]*+(?:'|$))"""
    r"|(?P<dot>\.)|(?P<space>[ \t]++)|(?P<other>.)",
    re.MULTILINE | re.DOTALL,
)


def read_toml(path: str | Path) -> dict[str, object]:
    """Return the tables of a TOML file.

    Raises `InputError`: the file cannot be read, or `parse_toml` refuses it;
    `FormatError`: it is longer than `MOST_TOML_BYTES`, or not UTF-8.
    """
    return parse_toml(read_text(path, most_bytes=MOST_TOML_BYTES), str(path))


def parse_toml(text: str, where: str) -> dict[str, object]:
    """Return the tables in a TOML text; `where` is for messages.

    Raises `InputError`: it is not TOML; a key has more than `MOST_KEY_PARTS` parts;
    lists or tables are nested too deeply; a number is too long.
    """
    _refuse_long_keys(text, where)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        what = f"not a TOML file: {problem}"
    except RecursionError:
        what = "not a TOML file of ours: nested too deeply"
    except ValueError:
        what = "not a TOML file of ours: a number is too long"
    raise InputError(what, where=where)


def _refuse_long_keys(text: str, where: str) -> None:
    """Raise if many words in a row are joined by dots."""
    if text.count(".") < MOST_KEY_PARTS:
        return
    parts = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "dot":
            parts += 1
        elif token.lastgroup == "other":
            parts = 0
        if parts >= MOST_KEY_PARTS:
            line = text.count("\n", 0, token.start()) + 1
            what, allowed = "a key of too many parts", f"at most {MOST_KEY_PARTS}"
            raise InputError(what, where=f"{where}:{line}", allowed=allowed)
