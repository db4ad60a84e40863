"""Mutations of files: of bytes, of words, and of the values that JSON or TOML hold."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import tomli_w
import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_WORDS = re.compile(rb"[A-Za-z_][\w-]*|-?\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_INSERTS = (
    *(b"0 1 -1 2 255 65536 1048576 1048577 4294967296 9223372036854775807").split(),
    *(b"9223372036854775808 -9223372036854775809 0x" + b"f" * 5000, b"9" * 5000),
    *(b"1e999 -0.0 nan inf true null [] {} [[ ]] {{ }} \" ' , : ; = . # \\".split()),
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\r\n", b"\n\n", b"\xef\xbb\xbf"),
    *(b"[" * 2000, b'{"a":' * 2000, b"a." * 2000, b'"' * 100, b"x" * 5000),
)
_VALUES: tuple[object, ...] = (
    *(0, 1, -1, 2, 3, 7, 8, 64, 2**16, 2**20, 2**20 + 1, 10**9, 2**31, 2**60 - 1),
    *(2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, 0.5, 1e308, -0.0),
    *(True, False, "", "a", "0", "\0", "é", "x" * 3000, [], {}, [[]], [0, 1], {"a": 1}),
)
"""Values at the edges of what the readers allow."""


def mutated(data: bytes, suffix: str, draw: Random) -> bytes:
    """Return `data`, a file of this suffix, with one to four mutations.

    Compressed files are damaged half of the time, else compressed anew.
    """
    if suffix.endswith((".gz", ".zst")):
        if draw.random() < 0.5:
            return _often(data, draw, (_bytes_changed,))
        return _recompressed(data, suffix, draw)
    if suffix == ".onnx":
        return _often(data, draw, (_bytes_changed,))
    ways: tuple[Callable[[bytes, Random], bytes], ...] = (_bytes_changed, _words)
    if suffix == ".jsonl":
        ways = (*ways, _lines_moved, _json_lines, _json_lines, _json_lines)
    elif suffix == ".json":
        ways = (*ways, _json, _json, _json)
    elif suffix == ".toml":
        ways = (*ways, _toml, _toml, _toml)
    else:
        ways = (*ways, _words, _lines_moved)
    made = _often(data, draw, ways)
    return _sealed(made) if suffix == ".jsonl" and draw.random() < 0.9 else made


def _often(
    data: bytes, draw: Random, ways: tuple[Callable[[bytes, Random], bytes], ...]
) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        data = draw.choice(ways)(data, draw)
    return data


def _bytes_changed(data: bytes, draw: Random) -> bytes:
    """Flip a bit, or cut, double, move or insert a run of bytes."""
    place = draw.randrange(len(data) + 1)
    size = draw.choice((1, 1, 2, 4, 16, 256))
    run, way = data[place : place + size], draw.randrange(6)
    if way == 0:
        return data[:place]
    if way == 1:
        return data[:place] + data[place + size :]
    if way == 2:
        return data[:place] + run * draw.choice((2, 3, 1000)) + data[place + size :]
    if way == 3:
        return data[:place] + draw.randbytes(size) + data[place + size :]
    if way == 4 and place < len(data):
        bit = data[place] ^ 1 << draw.randrange(8)
        return data[:place] + bytes([bit]) + data[place + 1 :]
    other = draw.randrange(len(data) + 1)
    return data[:place] + data[other : other + size] + data[place:]


def _words(data: bytes, draw: Random) -> bytes:
    """Replace, insert or drop a word, or put another of the file in its place."""
    words = _WORDS.findall(data)
    place = draw.randrange(len(words) + 1)
    new = draw.choice(_INSERTS) if draw.random() < 0.7 or not words else None
    new = draw.choice(words) if new is None else new
    words[place : place + draw.randrange(3)] = [] if draw.random() < 0.1 else [new]
    return b"".join(words)


def _lines_moved(data: bytes, draw: Random) -> bytes:
    """Drop, double or move a line."""
    lines = data.splitlines(keepends=True) or [b"\n"]
    line = lines.pop(draw.randrange(len(lines)))
    for _ in range(draw.choice((0, 1, 2, 3))):
        lines.insert(draw.randrange(len(lines) + 1), line)
    return b"".join(lines)


def _json(data: bytes, draw: Random) -> bytes:
    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        return data
    return json.dumps(_value_changed(table, draw)).encode()


def _json_lines(data: bytes, draw: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        place = draw.randrange(len(lines))
        lines[place] = _json(lines[place], draw).rstrip(b"\n") + b"\n"
    return b"".join(lines)


def _toml(data: bytes, draw: Random) -> bytes:
    try:
        table = tomllib.loads(data.decode())
        changed = _value_changed(table, draw)
        return tomli_w.dumps(changed).encode() if isinstance(changed, dict) else data
    except (ValueError, TypeError, AttributeError, RecursionError):
        return data


def _value_changed(root: object, draw: Random) -> object:
    """Return a copy with one value somewhere changed, dropped, doubled or moved."""
    root = copy.deepcopy(root)
    places = [(box, key) for box in _boxes(root) for key in _keys(box)]
    if not places:
        return draw.choice(_VALUES)
    box, key = draw.choice(places)
    way = draw.randrange(6)
    if way == 0:
        del box[key]
    elif way == 1 and isinstance(box, list):
        box[key:key] = [box[key]] * draw.choice((1, 2, 1000))
    elif way == 2:
        other, there = draw.choice(places)
        box[key] = copy.deepcopy(other[there])
    elif way == 3 and type(box[key]) is int:
        box[key] += draw.choice((-1, 1, 2, 10**6))
    elif way == 4 and isinstance(box, dict):
        box[draw.choice(("x", "", key + "s", key.upper()))] = box[key]
    else:
        box[key] = copy.deepcopy(draw.choice(_VALUES))
    return root


def _boxes(value: object) -> list[Any]:
    """Return every list and object in a value."""
    found, front = [], [value]
    while front:
        box = front.pop()
        if isinstance(box, dict | list):
            found.append(box)
            front += box.values() if isinstance(box, dict) else box
    return found


def _keys(box: dict[Any, Any] | list[Any]) -> list[Any]:
    return list(box) if isinstance(box, dict) else list(range(len(box)))


def _sealed(data: bytes) -> bytes:
    """Return a schedule file with its hash made right, if it ends in a footer."""
    head, newline, last = data.rstrip(b"\n").rpartition(b"\n")
    digest = hashlib.sha256(head + newline).hexdigest().encode()
    last = re.sub(rb'"sha256":\s*"[0-9a-f]*"', b'"sha256":"' + digest + b'"', last)
    return head + newline + last + b"\n"


def _recompressed(data: bytes, suffix: str, draw: Random) -> bytes:
    """Return a compressed file whose content is mutated."""
    if suffix.endswith(".gz"):
        return gzip.compress(mutated(gzip.decompress(data), ".jsonl", draw), mtime=0)
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return zstandard.compress(mutated(plain, ".jsonl", draw))
