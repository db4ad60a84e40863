"""LUMORPH's communication logs."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import FormatError, InputError
from lightloom.formats.communication_log import (
    AllReduceCall,
    LayerTransfer,
    read_communication_log,
)

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "L2L;4096;3;0;0;5\nAR;1048576;0,2,4,6\n\nL2L;128;3;1;5;0\n"


def test_calls_keep_their_order(tmp_path: Path) -> None:
    """Forward and backward transfers, and an all-reduce between them."""
    path = tmp_path / "calls.log"
    path.write_text(TEXT)
    calls = (
        LayerTransfer(4096, 3, backward=False, src=0, dst=5),
        AllReduceCall(1048576, (0, 2, 4, 6)),
        LayerTransfer(128, 3, backward=True, src=5, dst=0),
    )
    assert read_communication_log(path) == calls
    packed = tmp_path / "calls.log.gz"
    packed.write_bytes(gzip.compress(TEXT.replace("\n", "\r\n").encode()))
    assert read_communication_log(packed) == calls


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("AR;", "ALLREDUCE;", ":2: unknown call; found 'ALLREDUCE'; allowed: AR, L2L"),
        ("1048576", "-1", ":2: bytes: not a count; found '-1'"),
        ("1048576", "1e6", ":2: bytes"),
        ("1048576", str(2**60), ":2: bytes"),
        ("0,2,4,6", "0,2,,6", ":2: gpu: not a count; found ''"),
        ("0,2,4,6", "0,2,2,6", ":2: gpu: a GPU twice; found 2"),
        ("0,2,4,6", "0,2;4,6", ":2: fields of a call; found 4"),
        ("128;3;1;5;0", "128;3;1;5", ":4: fields of a call; found 5; allowed: L2L;"),
        ("128;3;1;5;0", "128;3;2;5;0", ":4: direction: not a count"),
        ("128;3;1;5;0", "128;three;1;5;0", ":4: layer: not a count"),
        (TEXT, "\n", "no call in the log"),
        (TEXT, "AR;1;" + "9" * 5000, ":1: gpu"),
    ],
)
def test_bad_logs_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    """File, line and field are named."""
    path = tmp_path / "calls.log"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(FormatError) as caught:
        read_communication_log(path)
    assert f"{path}" in str(caught.value)
    assert words in str(caught.value)


def test_unreadable_logs_are_refused(tmp_path: Path) -> None:
    """A missing file and a file that is not text are refused."""
    with pytest.raises(InputError, match="cannot read"):
        read_communication_log(tmp_path / "none.log")
    (tmp_path / "calls.log").write_bytes(b"AR;1;0\n\xff")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_communication_log(tmp_path / "calls.log")
