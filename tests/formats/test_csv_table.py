"""Traffic matrices as CSV: what is read, and what is refused where."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.errors import FormatError, InputError
from lightloom.core.task import Demand
from lightloom.formats.csv_table import read_matrix, read_pairs
from lightloom.instances.instance_file import parse_instance

if TYPE_CHECKING:
    from pathlib import Path


def _file(folder: Path, text: str | bytes) -> Path:
    path = folder / "d.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_matrix(tmp_path: Path) -> None:
    """Line i, column j is what i sends to j; zeros are left out."""
    path = _file(tmp_path, "0, 5,0\r\n007,0,1152921504606846975\n0,0,0\n\n")
    assert read_matrix(path) == [(0, 1, 5), (1, 0, 7), (1, 2, 2**60 - 1)]
    assert read_matrix(path, node_count=3) == read_matrix(path)


def test_pairs(tmp_path: Path) -> None:
    """Rows come in file order, repeated pairs too; a byte-order mark is no name."""
    path = _file(tmp_path, b"\xef\xbb\xbfsrc,dst,bytes\n3,1,10\n0,1,0\n3,1,5\n")
    assert read_pairs(path) == [(3, 1, 10), (0, 1, 0), (3, 1, 5)]
    packed = tmp_path / "d.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_pairs(packed) == read_pairs(path)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n0,5\n7,0\n",
        ",a,b\na,0,5\nb,7,0\n",
        ",0,1\n0,0,5\n1,7,0\n",
        "node,0,1\n0,0,5\n1,7,0\n",
        "0;5\n7;0\n",
        "a\tb\n0\t5.0\n0.7e1\t0\n",
    ],
)
def test_matrices_as_other_programs_write_them(tmp_path: Path, text: str) -> None:
    """A heading, an index, semicolons, tabs, whole numbers with a point."""
    path = _file(tmp_path, text)
    assert read_matrix(path) == [(0, 1, 5), (1, 0, 7)]
    assert read_matrix(path, node_count=2) == read_matrix(path)


def test_pairs_as_other_programs_write_them(tmp_path: Path) -> None:
    """Columns in another order, semicolons, ``1e6`` for a million."""
    path = _file(tmp_path, "bytes;src;dst\n1e6;0;1\n2.50E+2;1;0\n")
    assert read_pairs(path) == [(0, 1, 10**6), (1, 0, 250)]


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "", "empty"),
        ("\n\n", "", "empty"),
        ("0,1\n2,3,4\n", ":2", "not square"),
        ("0,1\n", "", "not square"),
        ("0,1\n2,0\n1,1\n", ":3", "not square"),
        ("0,1\n\n2,0\n", ":2", "blank line"),
        ("0,-1\n2,0\n", ":1:2", "'-1'"),
        ("0,1\nnan,0\n", ":2:1", "'nan'"),
        ("0,1.5\n2,0\n", ":1:2", "'1.5'"),
        ("0,1e99\n2,0\n", ":1:2", "integer from 0"),
        ("0,1e-3\n2,0\n", ":1:2", "'1e-3'"),
        ("0,1_0\n2,0\n", ":1:2", "'1_0'"),
        ("0,\n2,0\n", ":1:2", "''"),
        ("0,1152921504606846976\n2,0\n", ":1:2", "1152921504606846976"),
        ("0," + "9" * 5000 + "\n2,0\n", ":1:2", "integer from 0"),
        ("0,٣\n2,0\n", ":1:2", "integer from 0"),
        ('0,"1\n2,0\n', ":", "not CSV"),
        (b"0,\xff\n2,0\n", "", "not UTF-8"),
        ("0|1\n2|0\n", ":1:1", "'0|1'"),
        ("0,5;1;0\n2;0;0\n0;0;0\n", ":1:1", "'0,5'"),
        ("a,b\n0,1\n", "", "not square"),
        (",a,b\na,0,1\nb,2\n", ":3", "not square"),
    ],
)
def test_matrices_that_are_none(
    tmp_path: Path, text: str | bytes, where: str, what: str
) -> None:
    """The message names file, line, column, what was found and what is allowed."""
    path = _file(tmp_path, text)
    with pytest.raises(FormatError) as caught:
        read_matrix(path)
    assert caught.value.where.startswith(f"{path}{where}")
    assert what in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_matrix_of_another_size(tmp_path: Path) -> None:
    """Where the number of nodes is known, the table must have it."""
    path = _file(tmp_path, "0,1\n2,0\n")
    for nodes in (1, 3):
        with pytest.raises(FormatError, match="not square"):
            read_matrix(path, node_count=nodes)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "", "pairs without rows"),
        ("src,dst,bytes\n", "", "pairs without rows"),
        ("0,1,5\n", ":1", "not the heading of pairs"),
        ("src,dst\n0,1\n", ":1", "a column is missing: bytes"),
        ("src,dst,bytes,dst\n0,1,2,1\n", ":1", "a column is there twice"),
        ("src,dest,bytes\n0,1,2\n", ":1", "did you mean dst"),
        ("src,dst,bytes\n0,1\n", ":2", "another number of values"),
        ("src,dst,bytes\n0,1,2,3\n", ":2", "another number of values"),
        ("src,dst,bytes\n0,1,5\n0,x,5\n", ":3, dst", "'x'"),
        ("src,dst,bytes\n0,1,inf\n", ":2, bytes", "'inf'"),
    ],
)
def test_pairs_that_are_none(tmp_path: Path, text: str, where: str, what: str) -> None:
    """As for matrices; the header is required."""
    path = _file(tmp_path, text)
    with pytest.raises(FormatError) as caught:
        read_pairs(path)
    assert caught.value.where == f"{path}{where}"
    assert what in str(caught.value)


def test_pairs_of_nodes_that_are_not_there(tmp_path: Path) -> None:
    """Where the number of nodes is known, line and column of the node are named."""
    path = _file(tmp_path, "src,dst,bytes\n0,1,5\n1,4,5\n")
    assert read_pairs(path, node_count=5) == [(0, 1, 5), (1, 4, 5)]
    with pytest.raises(FormatError, match="an integer from 0 to 3") as caught:
        read_pairs(path, node_count=4)
    assert caught.value.where == f"{path}:3, dst"


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """A missing file and a folder are input errors, a bad .gz a format error."""
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            read_matrix(path)
        with pytest.raises(InputError, match="cannot read"):
            read_pairs(path)
    bad = tmp_path / "bad.csv.gz"
    bad.write_bytes(b"src,dst,bytes\n")
    with pytest.raises(FormatError, match="damaged") as caught:
        read_pairs(bad)
    assert caught.value.where.startswith(str(bad))


@given(
    st.lists(
        st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3
    )
)
def test_a_matrix_is_its_entries(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[int]]
) -> None:
    """Every non-zero entry comes back, in order, and nothing else."""
    text = "".join(",".join(map(str, row)) + "\n" for row in table)
    path = _file(tmp_path_factory.mktemp("m"), text)
    expected = [
        (src, dst, size)
        for src, row in enumerate(table)
        for dst, size in enumerate(row)
        if size
    ]
    assert read_matrix(path) == expected


def test_an_instance_has_a_matrix_in_a_file_or_in_itself(tmp_path: Path) -> None:
    """The same task either way."""
    path = tmp_path / "matrix.csv"
    path.write_text("0,5,0\n7,0,1\n0,0,0\n")
    fabric = {"kind": "ocs", "nodes": 3, "switches": 1, "bits_per_second_per_node": 8}
    tasks = {
        parse_instance(
            {"fabric": fabric, "demand": {"matrix": matrix}}, name="x", folder=tmp_path
        ).task
        for matrix in ("matrix.csv", [[0, 5, 0], [7, 0, 1], [0, 0, 0]])
    }
    assert tasks == {Demand((0, 1, 1), (1, 0, 2), (5, 7, 1))}
