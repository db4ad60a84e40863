"""FlexFlow's files: operator profiles, and task graphs as iterations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lightloom.core.errors import FormatError, InputError
from lightloom.formats.flexflow import (
    Measurement,
    read_flexflow_profile,
    read_flexflow_tasks,
)

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '{\n\t"batch_size": 16384, \n\t"ngpus": 16, \n\t"measurements": [\n'
DENSE = (
    '\t\t{\n\t\t\t"name": "Dense_1024_1024",\n\t\t\t"pc_str": "2-1-4",\n'
    '\t\t\t"fw_time": 0.281293,\n\t\t\t"bw_time": 0.522957,\n'
    '\t\t\t"mem_req": 25174016\n\t\t}'
)
TABLE = (
    '\t\t{\n\t\t\t"name": "Embed_10000000x256",\n\t\t\t"pc_str": "2-1-1",\n'
    '\t\t\t"fw_time": 1.613,\n\t\t\t"bw_time": 3.226,\n'
    '\t\t\t"mem_req": 20539768832\n\t\t}'
)
TEXT = HEAD + f"{DENSE}, \n{TABLE}" + "\n\t]\n}\n"
"""Two rows of the TopoOpt artifact's profile of DLRM on 16 GPUs (Apache-2.0)."""


def written(folder: Path, text: str) -> str:
    """Return the path of a file with this text."""
    path = folder / "profile.json"
    path.write_text(text)
    return str(path)


def test_rows_are_read_in_picoseconds(tmp_path: Path) -> None:
    """Samples are the last dimension; a cut into one part is none."""
    profile = read_flexflow_profile(written(tmp_path, TEXT))
    assert (profile.batch_size, profile.gpus) == (16384, 16)
    assert profile.measurements == (
        Measurement(
            "Dense_1024_1024", (("sample", 4),), 281_293_000, 522_957_000, 25_174_016
        ),
        Measurement(
            "Embed_10000000x256", (), 1_613_000_000, 3_226_000_000, 20_539_768_832
        ),
    )


@pytest.mark.parametrize(
    ("cut", "parts"),
    [
        ("4-1-1-1-16", (("sample", 16),)),
        ("4-2-3-5-7", (("channel", 5), ("sample", 7), ("spatial", 6))),
        ("3-2-3-5", (("channel", 2), ("sample", 5), ("spatial", 3))),
        ("2-8-1", (("channel", 8),)),
        ("1-4", (("sample", 4),)),
    ],
)
def test_cuts(tmp_path: Path, cut: str, parts: tuple[tuple[str, int], ...]) -> None:
    """The innermost dimension stands first; width and height are both spatial."""
    path = written(tmp_path, TEXT.replace("2-1-4", cut))
    assert read_flexflow_profile(path).measurements[0].parts == parts


BAD: list[tuple[str, str, str]] = [
    ('"fw_time": 0.281293', '"fw_time": -1', ":8: measurements[0].fw_time: value"),
    ('"bw_time": 3.226', '"bw_time": "x"', ":16: measurements[1].bw_time: value"),
    ('"mem_req": 25174016', '"mem_req": 1.5', ":10: measurements[0].mem_req: value"),
    ('"pc_str": "2-1-1"', '"pc_str": "2-1"', ":14: measurements[1].pc_str: not a cut"),
    ('"pc_str": "2-1-1"', '"pc_str": "2-0-1"', "measurements[1].pc_str: not a cut"),
    ('"pc_str": "2-1-1"', '"pc_str": ""', "measurements[1].pc_str: not a cut"),
    ('"bw_time": 3.226,', "", ":12: measurements[1]: missing key 'bw_time'"),
    ('"name": "Embed', '"colour": "Embed', "unknown key 'colour'"),
    ('"batch_size": 16384', '"batch_size": 0', ":2: batch_size: value not allowed"),
    ('"ngpus": 16', '"ngpus": 16, "ngpus": 8', "a key is given twice; found 'ngpus'"),
    ('"fw_time": 1.613', '"fw_time": NaN', "not a number of JSON; found 'NaN'"),
    ('"ngpus": 16, ', '"ngpus": 16', ":4:2: not JSON"),
    (
        '"name": "Embed_10000000x256",\n\t\t\t"pc_str": "2-1-1"',
        '"name": "Dense_1024_1024",\n\t\t\t"pc_str": "2-1-4"',
        ":14: measurements[1].pc_str: the cut of Dense_1024_1024 was measured before",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), BAD)
def test_bad_profiles_are_refused(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    """File, line and field are named."""
    assert TEXT.count(old) == 1
    path = written(tmp_path, TEXT.replace(old, new))
    with pytest.raises(FormatError) as caught:
        read_flexflow_profile(path)
    assert words in str(caught.value)
    assert path in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "3", '{"measurements": []}', "[" * 10**5])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    """None of them ends in a traceback."""
    with pytest.raises(FormatError):
        read_flexflow_profile(written(tmp_path, text))


def test_missing_files_are_refused(tmp_path: Path) -> None:
    """And so are folders and text that is not UTF-8."""
    with pytest.raises(InputError, match="cannot read"):
        read_flexflow_profile(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"\xff": 1}')
    with pytest.raises(FormatError, match="not UTF-8"):
        read_flexflow_profile(tmp_path / "latin.json")


def test_any_cut_off_file_is_refused(tmp_path: Path) -> None:
    """Every proper prefix, the white space at the end apart."""
    whole: Any = json.loads(TEXT)
    assert len(whole["measurements"]) == 2
    for length in range(0, len(TEXT.rstrip()), 7):
        with pytest.raises(FormatError):
            read_flexflow_profile(written(tmp_path, TEXT[:length]))


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
