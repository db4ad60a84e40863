"""FlexFlow task graphs as iterations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lightloom.core.errors import FormatError
from lightloom.formats.flexflow import read_flexflow_tasks

if TYPE_CHECKING:
    from pathlib import Path

FORWARD, BACKWARD, COMM, UPDATE, BARRIER, NOMINAL, REDUCE = range(7)


def graph() -> dict[str, Any]:
    """Return two GPUs: a forward task each, a transfer, backward, one all-reduce."""
    return {
        "nnode": 2,
        "ngpupernode": 1,
        "netbw": 12500000.0,
        "intergpubw": 20971520.0,
        "columns": ["taskid", "type", "deviceid", "runtime_ms", "xfersize", "next"],
        "tasktypes": [
            "FORWARD",
            "BACKWARD",
            "COMM",
            "UPDATE",
            "BARRIER",
            "NOMINAL_COMM",
            "ALLREDUCE",
        ],
        "devices": [[900, 14], [70, 0], [50, 0]],
        "tasks": [
            [11, FORWARD, 70, 0.163738, 0, [31, 21]],
            [31, NOMINAL, 900, 0.5, 4096, [12]],
            [12, FORWARD, 50, 2, 0, [22]],
            [22, BACKWARD, 50, 0.25, 0, [32, 41]],
            [32, NOMINAL, 900, 0.5, 2048, [21]],
            [21, BACKWARD, 70, 1, 0, [41]],
            [41, REDUCE, 0, 0.1, 512, [0, 1]],
        ],
    }


def read(folder: Path, table: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return what is read from a table."""
    path = folder / "tasks.json"
    path.write_text(json.dumps(table))
    return read_flexflow_tasks(path)


def test_communication_becomes_bytes_of_dependencies(tmp_path: Path) -> None:
    """GPUs are numbered in the order of the file, other devices left out."""
    made = read(tmp_path, graph())
    ops, links = made.operations, made.dependencies
    assert made.device_count == 2
    assert ops.name == ("forward 0", "forward 2", "backward 3", "backward 5")
    assert ops.device.tolist() == [0, 1, 1, 0]
    assert ops.duration_ps.tolist() == [163738000, 2 * 10**9, 25 * 10**7, 10**9]
    rows = zip(
        links.src.tolist(), links.dst.tolist(), links.bytes.tolist(), strict=True
    )
    assert sorted(rows) == [
        (0, 1, 4096),
        (0, 3, 0),
        (1, 2, 0),
        (2, 3, 2048),
        (2, 4, 0),
        (3, 4, 0),
    ]
    assert made.collectives.op == ("all-reduce",)
    assert made.collectives.bytes.tolist() == [512]
    assert made.collectives.devices.to_lists() == [[0, 1]]


BAD: list[tuple[int, int, object, str]] = [
    (0, 3, -1, "tasks[0][3]: value not allowed; found -1"),
    (1, 4, -1, "tasks[1][4]"),
    (2, 0, 11, "tasks[2][0]: a task of this id came before; found 11"),
    (2, 1, 9, "tasks[2][1]: unknown type of task; found 9"),
    (2, 1, BARRIER, "tasks[2][1]: a type of task that is not read; found 'BARRIER'"),
    (2, 2, 900, "tasks[2][2]: unknown GPU; found 900"),
    (0, 5, [31, 99], "tasks[0][5][1]: unknown task; found 99"),
    (1, 5, [12, 22], "tasks[1][5]: communication to other than one task; found 2"),
    (0, 5, [21], "communication from other than one computing task; found 0"),
    (4, 5, [41], "an all-reduce waits for computing tasks alone"),
    (6, 5, [0, 1, 2], "ranks of an all-reduce that waits for 2 devices; found 3"),
    (5, 5, [41, 11], "in a cycle"),
    (0, 5, "next", "tasks[0][5]"),
]


@pytest.mark.parametrize(("row", "place", "value", "words"), BAD)
def test_bad_tasks_are_refused(
    tmp_path: Path, row: int, place: int, value: object, words: str
) -> None:
    """The field is named."""
    table = graph()
    table["tasks"][row][place] = value
    with pytest.raises(FormatError) as caught:
        read(tmp_path, table)
    assert words in str(caught.value)


def test_bad_tables_are_refused(tmp_path: Path) -> None:
    """Other columns and missing keys are refused."""
    table = graph() | {"columns": ["taskid"]}
    with pytest.raises(FormatError, match="unknown columns; found 'taskid'"):
        read(tmp_path, table)
    del table["tasks"]
    with pytest.raises(FormatError, match="missing key 'tasks'"):
        read(tmp_path, table)
