"""JSON and TOML files whose errors name file, line and field."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

import msgspec

from lightloom.core.errors import FormatError, InputError
from lightloom.core.record import convert
from lightloom.core.units import MIB
from lightloom.formats.compression import open_writing
from lightloom.formats.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


RecordT = TypeVar("RecordT")

_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")
_SPACE = re.compile(r"[\s,:]*")
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class JsonFile:
    """A decoded file, and its text to find places in."""

    path: str
    text: str
    table: object

    def place(self, field: str) -> str:
        """Return ``file:line: field`` of a path such as ``ops[3].name``.

        The line is that of the last part of the path that is there.
        """
        position = 0
        for step in _STEP.finditer(f".{field}"):
            found = _below(self.text, position, step[1] or int(step[2]))
            if found is None:
                break
            position = found
        line = self.text.count("\n", 0, position) + 1
        return f"{self.path}:{line}: {field}"

    def convert(self, record: type[RecordT]) -> RecordT:
        """Return the table as a record.

        Raises `FormatError`: it is no such record; file, line and field are named.
        """
        mark = "\0"
        try:
            return convert(self.table, record, where=mark, error=FormatError)
        except FormatError as problem:
            field = problem.where.removeprefix(mark).removeprefix(".")
            raise FormatError(
                problem.what,
                where=self.place(field) if field else self.path,
                found=problem.found,
                allowed=problem.allowed,
                fix=problem.fix,
            ) from None


def read_json(path: str | Path) -> JsonFile:
    """Return a JSON file, decompressed by its suffix.

    Raises `InputError`: the file cannot be read; `FormatError`: it is too long, not
    UTF-8 or not JSON, or a key is given twice.
    """
    name = str(path)
    text = read_text(path)
    try:
        table = json.loads(
            text,
            object_pairs_hook=lambda pairs: _once(pairs, name),
            parse_constant=lambda word: _refuse_constant(word, name),
        )
    except json.JSONDecodeError as problem:
        place = f"{name}:{problem.lineno}:{problem.colno}"
        raise FormatError(f"not JSON: {problem.msg}", where=place) from None
    except (RecursionError, ValueError) as problem:
        if isinstance(problem, FormatError):
            raise
        what = "nested too deeply, or a number too long"
        raise FormatError(what, where=name) from None
    _refuse_half_characters(text, table, name)
    return JsonFile(name, text, table)


def _below(text: str, position: int, step: str | int) -> int | None:
    """Return where the key or item `step` of the value at `position` begins."""
    decode = json.JSONDecoder().raw_decode
    position = _skip(text, position)
    opened = text[position : position + 1]
    if opened != ("{" if isinstance(step, str) else "["):
        return None
    position, number = _skip(text, position + 1), 0
    while text[position] not in "]}":
        key: object = number
        begin = position
        if opened == "{":
            key, position = decode(text, position)
            position = _skip(text, position)
        if key == step:
            # Of an item, the value itself; of a key, what follows it.
            return position if opened == "{" else begin
        _, position = decode(text, position)
        position, number = _skip(text, position), number + 1
    return None


def _skip(text: str, position: int) -> int:
    """Return where the next token begins."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _once(pairs: list[tuple[str, object]], name: str) -> dict[str, object]:
    """Return the object of (key, value) pairs, or raise if a key repeats."""
    table = dict(pairs)
    if len(table) != len(pairs):
        count = Counter(key for key, _ in pairs)
        twice = next(key for key in count if count[key] > 1)
        raise FormatError("a key is given twice", where=name, found=twice)
    return table


def _refuse_half_characters(text: str, table: object, name: str) -> None:
    """Raise if a string holds half of a character, which no file can be given."""
    if not _HALF_CHARACTER.search(text):
        return
    try:
        json.dumps(table, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        found = ascii(problem.object[problem.start])
        what = "not JSON: half of a surrogate pair"
        raise FormatError(what, where=name, found=found) from None


def _refuse_constant(word: str, name: str) -> NoReturn:
    raise FormatError("not a number of JSON", where=name, found=word)


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
