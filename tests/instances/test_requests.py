"""Demands keep the rows they were given in, for problems that route each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.task import Demand
from lightloom.instances.instance_file import read_instance

if TYPE_CHECKING:
    from pathlib import Path


def test_repeated_rows_are_repeated_requests(tmp_path: Path) -> None:
    """The demand sums them; the requests keep them in order, but those of no bytes."""
    (tmp_path / "pairs.csv").write_text("src,dst,bytes\n3,0,5\n0,3,1\n1,2,0\n3,0,2\n")
    path = tmp_path / "instance.toml"
    path.write_text(
        '[fabric]\nkind = "lightpath"\nrows = 2\ncols = 2\n'
        '[demand]\npairs = "pairs.csv"\n'
    )
    instance = read_instance(path)
    assert instance.task == Demand((0, 3), (3, 0), (1, 7))
    assert instance.requests == ((3, 0), (0, 3), (3, 0))


def test_an_empty_demand_is_a_demand(tmp_path: Path) -> None:
    """Columns without rows are given, and ask for nothing."""
    path = tmp_path / "instance.toml"
    path.write_text(
        '[fabric]\nkind = "lightpath"\nrows = 2\ncols = 2\n'
        "[demand]\nsrc = []\ndst = []\nbytes = []\n"
    )
    assert read_instance(path).task == Demand((), (), ())
