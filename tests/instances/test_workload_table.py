"""Workloads in instance files: a graph file or columns, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Workload
from lightloom.instances.catalogue import load_instance
from lightloom.instances.instance_file import instance_toml

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = {
    "ops": [
        {"id": "a", "duration_ps": 5, "memory_bytes": 8},
        {"id": "b", "duration_ps": 0, "memory_bytes": 0},
        {"id": "c", "duration_ps": 7, "memory_bytes": 1},
    ],
    "edges": [
        {"src": "a", "dst": "c", "bytes": 4},
        {"src": "a", "dst": "b", "bytes": 1},
        {"src": "a", "dst": "c", "bytes": 2},
    ],
}
COLUMNS = """op = ["a", "b"]
duration_ps = [5, 6]
memory_bytes = [1, 2]
src = [0]
dst = [1]
bytes = [64]"""


def _file(folder: Path, workload: str, graph: object = None) -> str:
    """Return the path of an instance with four nodes, its graph beside it."""
    text = graph if isinstance(graph, str) else json.dumps(graph or GRAPH)
    (folder / "graph.json").write_text(text)
    path = folder / "instance.toml"
    path.write_text(
        f'[fabric]\nkind = "ideal-switch"\nnodes = 4\n[workload]\n{workload}'
    )
    return str(path)


def test_a_graph_beside_the_instance(tmp_path: Path) -> None:
    """Rows keep the order of the file; edges of one pair add up, sorted."""
    text = 'graph = "graph.json"\ndevices = 3\ndistance = 1\ndevice_memory_bytes = 9'
    instance = load_instance(_file(tmp_path, text))
    assert instance.task == Workload(
        ("a", "b", "c"), (5, 0, 7), (8, 0, 1), (0, 0), (1, 2), (1, 6), 3, 1, 9
    )


def test_devices_and_distance_default_to_no_limit(tmp_path: Path) -> None:
    """All nodes are devices, any of them may talk, and memory does not matter."""
    task = load_instance(_file(tmp_path, 'graph = "graph.json"')).task
    assert isinstance(task, Workload)
    assert (task.devices, task.distance, task.device_memory_bytes) == (4, 3, None)


@pytest.mark.parametrize("text", ['graph = "graph.json"', COLUMNS])
def test_what_show_prints_is_read_back(tmp_path: Path, text: str) -> None:
    """Columns instead of a file, every default filled in, give the same workload."""
    instance = load_instance(_file(tmp_path, text))
    again = tmp_path / "again.toml"
    again.write_text(instance_toml(instance))
    assert load_instance(str(again)).task == instance.task


def _edited(place: str, number: int, **keys: object) -> dict[str, Any]:
    graph: dict[str, Any] = json.loads(json.dumps(GRAPH))
    graph[place][number] |= keys
    return graph


BAD_GRAPHS: list[tuple[object, str]] = [
    (_edited("ops", 1, duration_ps=-1), "graph.json: graph.ops[1].duration_ps: value"),
    (_edited("ops", 2, memory_bytes=-4), "graph.ops[2].memory_bytes"),
    (_edited("ops", 2, memory_bytes=1.5), "graph.ops[2].memory_bytes"),
    (_edited("ops", 0, colour="red"), "colour"),
    (_edited("ops", 1, id="a"), "graph.ops[1].id: the id of another operation"),
    (_edited("edges", 1, dst="bb"), "graph.edges[1].dst: unknown operation"),
    (_edited("edges", 0, bytes=-2), "graph.edges[0].bytes"),
    (
        _edited("edges", 1, src="c", dst="a"),
        "in a cycle; found 'a -> c -> a'",
    ),
    (_edited("edges", 1, src="b", dst="b"), "in a cycle; found 'b -> b'"),
    ({"ops": []}, "edges"),
    ({"ops": [], "edges": []}, "there is no operation to place"),
    ('{"ops": [], "ops": [], "edges": []}', "a key is given twice; found 'ops'"),
    ('{"ops": [,', "graph.json:1:10: not JSON"),
    ("[" * 100_000, "nested too deeply"),
    ('{"ops": ' + "9" * 5000 + "}", "a number too long"),
    ("[]", "graph"),
]


@pytest.mark.parametrize(("graph", "words"), BAD_GRAPHS)
def test_bad_graphs_are_refused(tmp_path: Path, graph: object, words: str) -> None:
    """File and field are named; a cycle is printed."""
    path = _file(tmp_path, 'graph = "graph.json"', graph)
    with pytest.raises(InputError) as caught:
        load_instance(path)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "given in one way"),
        (f'graph = "graph.json"\n{COLUMNS}', "given in one way"),
        (COLUMNS.replace("src = [0]", ""), "given in one way"),
        ('graph = "none.json"', "none.json: cannot read"),
        ('graph = "graph.json"\ndevices = 5', "more devices than nodes; found 5"),
        ('graph = "graph.json"\ndevices = 0', "workload.devices"),
        ('graph = "graph.json"\ndistance = -1', "workload.distance"),
        ('graph = "graph.json"\ndistanse = 1', "did you mean distance"),
        (COLUMNS.replace("dst = [1]", "dst = [2]"), "edge 0: unknown operation"),
        (COLUMNS.replace("dst = [1]", "dst = [0]"), "in a cycle; found 'a -> a'"),
        (COLUMNS.replace("[5, 6]", "[5]"), "differ in length; found [2, 1, 2]"),
        (COLUMNS.replace("[5, 6]", "[5, -6]"), "workload.duration_ps[1]"),
        (COLUMNS.replace('"b"', '"a"'), "two operations of one name; found 'a'"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, words: str) -> None:
    """What does not fit is named with its place."""
    with pytest.raises(InputError) as caught:
        load_instance(_file(tmp_path, text))
    assert words in str(caught.value)
