"""Chakra execution traces: the nodes of one rank, as simulators read them.

A file is a sequence of protocol-buffer messages, each after its length: a header with
the version, then a message for every node. Field numbers are those of the published
schema (``et_def.proto``, version 0.0.4); fields that are not named here are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from lightloom.core.errors import FormatError
from lightloom.core.units import GIB
from lightloom.formats.compression import open_reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VERSION = "0.0.4"
_MOST_NODES = 2**24
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_ID, _NAME, _TYPE, _CONTROL, _DATA, _DURATION, _ATTRIBUTE = 1, 2, 3, 4, 5, 7, 10
_INT32, _INT64, _BOOL = 7, 9, 27
_INTEGERS = frozenset({_INT32, _INT64, 11, 13, 15, 17, _BOOL})
_WIDE = frozenset({"comm_size", "comm_type"})
"""Attributes of 64 bits; other integers have 32."""


class NodeType(IntEnum):
    """What a node does."""

    COMPUTE = 4
    SEND = 5
    RECEIVE = 6
    COLLECTIVE = 7


class CollectiveType(IntEnum):
    """Collectives by the numbers of the schema."""

    ALL_REDUCE = 0
    ALL_GATHER = 2
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7


@dataclass(frozen=True)
class TraceNode:
    """One node of a trace.

    Attributes
    ----------
    id
        Number, unique in its file.
    name
        For people.
    type
        A `NodeType`, or another number of the schema.
    data_deps
        Nodes that must have ended.
    duration_micros
        How long it computes.
    attributes
        ``comm_src``, ``comm_dst``, ``comm_tag``, ``comm_size``, ``comm_type`` and
        other integers and truth values.
    """

    id: int
    name: str
    type: int
    data_deps: tuple[int, ...] = ()
    duration_micros: int = 0
    attributes: dict[str, int | bool] = field(default_factory=dict)


def chakra_bytes(nodes: list[TraceNode]) -> bytes:
    """Return a trace as the bytes of its file.

    Parameters
    ----------
    nodes
        At least one: simulators take a file without nodes for none.
    """
    header = _text(1, _VERSION)
    messages = [header, *map(_node, nodes)]
    return b"".join(_varint(len(message)) + message for message in messages)


def _varint(value: int) -> bytes:
    """Return an integer from 0 in groups of seven bits, the lowest first."""
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _number(key: int, value: int) -> bytes:
    return _varint(key << 3 | _VARINT) + _varint(value)


def _bytes(key: int, value: bytes) -> bytes:
    return _varint(key << 3 | _LENGTH) + _varint(len(value)) + value


def _text(key: int, value: str) -> bytes:
    return _bytes(key, value.encode())


def _node(node: TraceNode) -> bytes:
    parts = [_number(_ID, node.id), _text(_NAME, node.name), _number(_TYPE, node.type)]
    if node.data_deps:
        parts.append(_bytes(_DATA, b"".join(map(_varint, node.data_deps))))
    if node.duration_micros:
        parts.append(_number(_DURATION, node.duration_micros))
    for name, value in node.attributes.items():
        kind = _BOOL if isinstance(value, bool) else _INT64 if name in _WIDE else _INT32
        parts.append(_bytes(_ATTRIBUTE, _text(1, name) + _number(kind, int(value))))
    return b"".join(parts)


def read_chakra(path: str | Path) -> list[TraceNode]:
    """Return the nodes in the trace of one rank.

    Parameters
    ----------
    path
        Of the file, decompressed by its suffix.

    Raises
    ------
    InputError
        The file cannot be read.
    FormatError
        It ends within a message, or a message is damaged.
    """
    with open_reading(path, most_bytes=GIB) as source:
        data = source.read()
    where = str(path)
    nodes: list[TraceNode] = []
    try:
        for place, (start, end) in enumerate(_messages(data)):
            if place:
                nodes.append(_read_node(data, start, end))
            if len(nodes) > _MOST_NODES:
                allowed = f"{_MOST_NODES} at most"
                raise FormatError("too many nodes", where=where, allowed=allowed)
    except (IndexError, UnicodeDecodeError):
        what = f"damaged after node {len(nodes)}"
        raise FormatError(what, where=where, allowed="a Chakra trace") from None
    return nodes


def _messages(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of every message of a file."""
    at = 0
    while at < len(data):
        size, at = _read_varint(data, at)
        if at + size > len(data):
            raise IndexError
        yield at, at + size
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends; `IndexError` beyond the data."""
    value = 0
    for shift in range(0, 70, 7):
        part = data[at]
        at += 1
        value |= (part & 127) << shift
        if part < 128:
            return value, at
    raise IndexError


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | bytes]]:
    """Yield (number, value) of the fields of a message."""
    while at < end:
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield key >> 3, value
            continue
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind)
        if kind == _LENGTH:
            size, at = _read_varint(data, at)
        if size is None or at + size > end:
            raise IndexError
        yield key >> 3, data[at : at + size]
        at += size


def _read_node(data: bytes, start: int, end: int) -> TraceNode:
    number, name, kind, duration = 0, "", 0, 0
    deps: list[int] = []
    attributes: dict[str, int | bool] = {}
    for key, value in _fields(data, start, end):
        if isinstance(value, int):
            number = value if key == _ID else number
            kind = value if key == _TYPE else kind
            duration = value if key == _DURATION else duration
            if key in (_CONTROL, _DATA):
                deps.append(value)
        elif key == _NAME:
            name = value.decode()
        elif key in (_CONTROL, _DATA):
            at = 0
            while at < len(value):
                dep, at = _read_varint(value, at)
                deps.append(dep)
        elif key == _ATTRIBUTE:
            attributes |= _read_attribute(value)
    return TraceNode(number, name, kind, tuple(deps), duration, attributes)


def _read_attribute(data: bytes) -> dict[str, int | bool]:
    """Return an attribute if it is an integer or a truth value, else nothing."""
    name: str | None = None
    found: int | bool | None = None
    for key, value in _fields(data, 0, len(data)):
        if key == 1 and isinstance(value, bytes):
            name = value.decode()
        elif key in _INTEGERS and isinstance(value, int):
            found = bool(value) if key == _BOOL else value
    return {} if name is None or found is None else {name: found}
