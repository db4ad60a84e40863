"""Chakra execution traces: the nodes of one rank, as simulators read them.

A file is a sequence of protocol-buffer messages, each after its length: a header with
the version, then a message for every node. Field numbers are those of the published
schema (``et_def.proto``, version 0.0.4); fields that are not named here are skipped.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import FormatError
from lightloom.core.units import GIB
from lightloom.formats.compression import open_reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Attribute: TypeAlias = "int | bool | float | str | tuple[bool, ...]"

_VERSION = "0.0.4"
_MOST_NODES = 2**24
"""Nodes of a trace, which are all held in memory."""
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
"""Wire types of Protocol Buffers."""
_ID, _NAME, _TYPE, _CONTROL, _DATA, _DURATION, _INPUTS, _ATTRIBUTE = (
    *(1, 2, 3, 4, 5, 7, 8, 10),
)
_HEADER_FIELDS = frozenset({1, 2})
_INT32, _INT64, _BOOL, _BOOLS, _TEXT = 7, 9, 27, 28, 29
"""Fields of an attribute, by the type of its value."""
_UNSIGNED, _ZIGZAG = frozenset({11, 13}), frozenset({15, 17})
_PACKED = {3: "<d", 5: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}
"""Attributes of eight or four bytes, and how they are packed."""
_WIDE = frozenset({"comm_size", "comm_type", "num_ops", "tensor_size"})
"""Attributes of 64 bits; other integers have 32 where they fit."""


class NodeType(IntEnum):
    """What a node does, by the numbers of the schema."""

    INVALID = 0
    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMPUTE = 4
    SEND = 5
    RECEIVE = 6
    COLLECTIVE = 7
    STORAGE = 8
    BATCH = 9
    CHECKPOINT = 10


class CollectiveType(IntEnum):
    """Collectives by the numbers of the schema."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


COLLECTIVES = {
    CollectiveType.ALL_REDUCE: "all-reduce",
    CollectiveType.ALL_GATHER: "all-gather",
    CollectiveType.ALL_TO_ALL: "all-to-all",
    CollectiveType.REDUCE_SCATTER: "reduce-scatter",
}
"""Collectives that simulators move data for, and their names here."""


def comm_size(op: str, buffer_bytes: int, ranks: int) -> int:
    """Return what a trace calls the size of a collective: what a rank puts in.

    `buffer_bytes`: the full buffer, as docs/spec/semantics.md has it.
    """
    return buffer_bytes // ranks if op == "all-gather" else buffer_bytes


def full_buffer_bytes(op: str, size: int, ranks: int) -> int:
    """Return the full buffer of a collective of which each rank puts in `size`."""
    return size * ranks if op == "all-gather" else size


@dataclass(frozen=True)
class TraceNode:
    """One node of a trace.

    `id`: unique in its file. `name`: for people. `type`: a `NodeType`. `data_deps`:
    nodes that must have ended. `duration_micros`: how long it computes. `attributes`:
    ``comm_src``, ``comm_dst``, ``comm_tag``, ``comm_size``, ``comm_type``, ``pg_name``
    and others that are a number, a truth value or several, or a text. `inputs`: values
    of its inputs, in which a metadata node lists process groups.
    """

    id: int
    name: str
    type: int
    data_deps: tuple[int, ...] = ()
    duration_micros: int = 0
    attributes: dict[str, Attribute] = field(default_factory=dict)
    inputs: str = ""


def chakra_bytes(nodes: list[TraceNode]) -> bytes:
    """Return a trace as the bytes of its file.

    `nodes`: at least one, since simulators take a file without nodes for none.
    """
    header = _text(1, _VERSION)
    messages = [header, *map(_node, nodes)]
    return b"".join(_varint(len(message)) + message for message in messages)


def _varint(value: int) -> bytes:
    """Return an integer of 64 bits in groups of seven bits, the lowest first."""
    value &= 2**64 - 1
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
    if node.inputs:
        parts.append(_bytes(_INPUTS, _text(1, node.inputs)))
    for name, value in node.attributes.items():
        parts.append(_bytes(_ATTRIBUTE, _text(1, name) + _attribute(name, value)))
    return b"".join(parts)


def _attribute(name: str, value: Attribute) -> bytes:
    """Return the value of an attribute."""
    if isinstance(value, bool):
        return _number(_BOOL, int(value))
    if isinstance(value, str):
        return _text(_TEXT, value)
    if isinstance(value, tuple):
        return _bytes(_BOOLS, _bytes(1, bytes(map(int, value))))
    if isinstance(value, float):
        return _varint(3 << 3 | _EIGHT_BYTES) + struct.pack("<d", value)
    narrow = name not in _WIDE and -(2**31) <= value < 2**31
    return _number(_INT32 if narrow else _INT64, value)


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
        It ends within a message, or a message is damaged; no header or no nodes; two
        nodes of one id; a node type that the schema does not have.
    """
    with open_reading(path, most_bytes=GIB) as source:
        data = source.read()
    where = str(path)
    nodes: list[TraceNode] = []
    try:
        for place, (start, end) in enumerate(_messages(data)):
            if place:
                nodes.append(_read_node(data, start, end))
            elif not {key for key, _ in _fields(data, start, end)} <= _HEADER_FIELDS:
                what, allowed = "the first message is no header", "a Chakra trace"
                raise FormatError(what, where=where, allowed=allowed)
            if len(nodes) > _MOST_NODES:
                allowed = f"{_MOST_NODES} at most"
                raise FormatError("too many nodes", where=where, allowed=allowed)
    except (IndexError, UnicodeDecodeError, struct.error):
        what = f"damaged after node {len(nodes)}"
        raise FormatError(what, where=where, allowed="a Chakra trace") from None
    if not nodes:
        what, allowed = "a trace without nodes", "a header, then a node at least"
        raise FormatError(what, where=where, allowed=allowed)
    check_nodes(nodes, where)
    return nodes


def check_nodes(nodes: Sequence[TraceNode], where: str) -> None:
    """Raise `FormatError` unless they are nodes of one rank."""
    seen: set[int] = set()
    for node in nodes:
        if node.id in seen:
            raise FormatError("two nodes of one id", where=where, found=node.id)
        seen.add(node.id)
        if node.type not in NodeType.__members__.values():
            what, place = "unknown node type", f"{where}, node {node.id}"
            allowed = "0 to 10, those of the schema"
            raise FormatError(what, where=place, found=node.type, allowed=allowed)


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
    """Return a number of 64 bits, and where it ends; `IndexError` beyond the data."""
    value = 0
    for shift in range(0, 70, 7):
        part = data[at]
        at += 1
        value |= (part & 127) << shift
        if part < 128 and value < 2**64:
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


def _text_field(data: bytes, wanted: int) -> str:
    """Return the last text of a number in a message, empty where there is none."""
    texts = [b""]
    for key, value in _fields(data, 0, len(data)):
        if key == wanted and isinstance(value, bytes):
            texts.append(value)
    return texts[-1].decode()


def _packed(data: bytes) -> list[int]:
    """Return the numbers of a packed field."""
    values, at = [], 0
    while at < len(data):
        value, at = _read_varint(data, at)
        values.append(value)
    return values


def _read_node(data: bytes, start: int, end: int) -> TraceNode:
    number, name, kind, duration, inputs = 0, "", 0, 0, ""
    deps: list[int] = []
    attributes: dict[str, Attribute] = {}
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
            deps += _packed(value)
        elif key == _INPUTS:
            inputs = _text_field(value, 1)
        elif key == _ATTRIBUTE:
            attributes |= _read_attribute(value)
    return TraceNode(number, name, kind, tuple(deps), duration, attributes, inputs)


def _read_attribute(data: bytes) -> dict[str, Attribute]:
    """Return an attribute by name; nothing if it is of another kind than `Attribute`.

    Where several values are given the last one holds, as protocol buffers have it.
    """
    name: str | None = None
    held: Attribute | None = None
    for key, value in _fields(data, 0, len(data)):
        if key == 1 and isinstance(value, bytes):
            name = value.decode()
        elif isinstance(value, int):
            held = _read_integer(key, value, held)
        elif key in _PACKED:
            [held] = struct.unpack(_PACKED[key], value)
        elif key == _TEXT:
            held = value.decode()
        elif key == _BOOLS:
            held = tuple(
                bool(one)
                for part, several in _fields(value, 0, len(value))
                if part == 1
                for one in ([several] if isinstance(several, int) else several)
            )
    return {} if name is None or held is None else {name: held}


def _read_integer(key: int, value: int, other: Attribute | None) -> Attribute | None:
    """Return the integer or truth value that a number of 64 bits stands for."""
    if key == _BOOL:
        return bool(value)
    if key in _ZIGZAG:
        return value >> 1 ^ -(value & 1)
    if key in (_INT32, _INT64):
        return value - 2**64 if value >= 2**63 else value
    return value if key in _UNSIGNED else other
