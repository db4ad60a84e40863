"""Files of Chakra traces: every kind of attribute, and what is no trace."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import FormatError
from lightloom.formats.chakra import (
    COLLECTIVES,
    NodeType,
    TraceNode,
    chakra_bytes,
    comm_size,
    full_buffer_bytes,
    read_chakra,
)

if TYPE_CHECKING:
    from pathlib import Path

NODE = TraceNode(0, "", NodeType.COMPUTE)


def test_attributes_come_back(tmp_path: Path) -> None:
    """Numbers below and above 0, small and large, truth values, texts and lists."""
    said = {
        "comm_tag": -7,
        "rf_id": 2**40,
        "num_ops": 2**62,
        "share": 0.5,
        "is_cpu_op": False,
        "pg_name": "tensor 3",
        "involved_dim": (True, False, True),
    }
    listed = '[\'[{"pg_name": "1"}]\']'
    node = TraceNode(2**40, "add", NodeType.COMPUTE, (3, 300), 17, said, listed)
    path = tmp_path / "x.0.et"
    path.write_bytes(chakra_bytes([NODE, node]))
    assert read_chakra(path) == [NODE, node]


@pytest.mark.parametrize(
    ("key", "wire", "value", "read"),
    [
        (11, 0, b"\x05", 5),
        (13, 0, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 2**64 - 1),
        (15, 0, b"\x05", -3),
        (17, 0, b"\x06", 3),
        (5, 5, struct.pack("<f", 2.5), 2.5),
        (19, 5, struct.pack("<I", 2**31), 2**31),
        (21, 1, struct.pack("<Q", 2**63), 2**63),
        (23, 5, struct.pack("<i", -5), -5),
        (25, 1, struct.pack("<q", -5), -5),
        (27, 0, b"\x01", True),
    ],
)
def test_numbers_of_every_kind(
    key: int, wire: int, value: bytes, read: float, tmp_path: Path
) -> None:
    """As protocol buffers write them, by their field."""
    key_bytes = bytes([key << 3 & 127 | wire | 128, key >> 4])
    attribute = b"\x0a\x01x" + key_bytes + value
    node = b"\x18\x04" + bytes([10 << 3 | 2, len(attribute)]) + attribute
    path = tmp_path / "x.0.et"
    path.write_bytes(b"\x00" + bytes([len(node)]) + node)
    assert read_chakra(path)[0].attributes == {"x": read}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "a trace without nodes"),
        (b"\x00", "a trace without nodes"),
        (bytes(1000), "two nodes of one id; found 0"),
        (chakra_bytes([NODE])[:1] + b"\x52", "damaged after node 0"),
        (b"\x02\x18\x04" + chakra_bytes([NODE]), "the first message is no header"),
        (chakra_bytes([NODE, NODE]), "two nodes of one id; found 0"),
        (chakra_bytes([TraceNode(8, "", 11)]), "node 8: unknown node type; found 11"),
        (b"\x00" + b"\x0b\x08" + b"\xff" * 9 + b"\x7f", "damaged after node 0"),
    ],
)
def test_what_is_no_trace(data: bytes, says: str, tmp_path: Path) -> None:
    """Files of nothing or zeros, ids given twice, types the schema does not have."""
    path = tmp_path / "x.0.et"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=says):
        read_chakra(path)


@pytest.mark.parametrize("op", COLLECTIVES.values())
def test_the_size_of_a_collective_is_what_a_rank_puts_in(op: str) -> None:
    """A block of an all-gather, the whole buffer of the others."""
    size = comm_size(op, 4096, 8)
    assert size == {"all-gather": 512}.get(op, 4096)
    assert full_buffer_bytes(op, size, 8) == 4096
