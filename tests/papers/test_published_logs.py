"""Figures of LUMORPH from communication logs in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import InputError
from lightloom.papers import figure

if TYPE_CHECKING:
    from pathlib import Path

LOGS = {
    "bert": "AR;4096;0,1,2,3\nAR;1024;0,1\nAR;1024;2,3\nL2L;64;1;0;0;0\n",
    "inception-v3": "AR;4096;0,1,2,3\nAR;4096;0,1\n",
    "ncf": "AR;65536;0,1,2,3\n",
}


@pytest.fixture
def logs(tmp_path: Path) -> str:
    """Return a folder with a log of each model."""
    for name, text in LOGS.items():
        (tmp_path / f"{name}.log").write_text(text)
    return str(tmp_path)


def test_sizes_are_those_of_the_calls(logs: str) -> None:
    """Cumulated, and judged by the paper's claims."""
    found = figure("lumorph-fig10").at(logs=logs).run(lambda _: None)
    assert ("bert", 1024, 2 / 3) in found.data.rows
    assert ("ncf", 65_536, 1.0) in found.data.rows
    assert len(found.comparisons) == 3


def test_gains_are_those_of_the_calls(logs: str) -> None:
    """Ring, LUMORPH-2 and -4 and auto, on the smallest rack that has the devices."""
    found = figure("lumorph-fig11").at(logs=logs).run(lambda _: None)
    rows = found.data.where(model="ncf")
    assert rows.names("algorithm") == [
        "ring (switch)",
        "lumorph-2",
        "lumorph-4",
        "auto",
    ]
    assert rows.sizes("gpus") == [4]
    assert rows.number("over_ring", algorithm="ring (switch)") == 1.0
    assert rows.number("over_ring", algorithm="auto") >= rows.number(
        "over_ring", algorithm="lumorph-2"
    )
    assert len(found.comparisons) == 3
    with pytest.raises(InputError, match="no such folder"):
        figure("lumorph-fig11").at(logs=f"{logs}/none").run(lambda _: None)
