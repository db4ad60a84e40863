"""Iteration curves as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import FormatError, InputError
from lightloom.formats.training_tables import read_iteration_curve

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_are_read_in_the_order_of_batches(tmp_path: Path) -> None:
    """Comments and empty lines say nothing."""
    path = tmp_path / "curve.csv"
    path.write_text("# synthetic\nbatch_size,iterations\n\n64,10\n 8, 70\n")
    assert read_iteration_curve(path) == {8: 70, 64: 10}
    assert list(read_iteration_curve(path)) == [8, 64]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "curve.csv: a curve without rows"),
        ("batch,iterations\n8,1\n", "curve.csv:1"),
        ("batch_size,iterations\n", "without rows"),
        ("batch_size,iterations\n8,70\n8,71\n", "curve.csv:3.*twice"),
        ("batch_size,iterations\n8,0\n", "curve.csv:2, iterations.*not a count"),
        ("batch_size,iterations\n# x\n8.5,3\n", "curve.csv:3, batch_size"),
        ("batch_size,iterations\n8\n", "curve.csv:2.*another number of values"),
    ],
)
def test_damaged_curves_are_refused_with_the_line(
    tmp_path: Path, text: str, words: str
) -> None:
    """The error names file, line and column."""
    path = tmp_path / "curve.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=words):
        read_iteration_curve(path)


def test_files_that_are_no_curves(tmp_path: Path) -> None:
    """A missing file and bytes that are not text are refused."""
    with pytest.raises(InputError, match="cannot read"):
        read_iteration_curve(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_iteration_curve(tmp_path / "bytes.csv")
