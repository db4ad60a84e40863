"""Records check themselves, with the messages of a file."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from lightloom.core.errors import InputError, LightloomError
from lightloom.core.task import Collective, Demand
from lightloom.core.training import Training
from lightloom.instances.fabrics import FABRICS, load_fabric
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"rows": -4}, "rows: value not allowed; found -4; allowed: integer >= 1"),
        ({"rows": 4.0}, "rows: value not allowed; found 4.0; allowed: integer"),
        ({"rows": True}, "rows: value not allowed; found True; allowed: integer"),
        ({"rows": "4"}, "rows: value not allowed; found '4'; allowed: integer"),
        (
            {"bits_per_second_per_wavelength": 1.5e11},
            "bits_per_second_per_wavelength: value not allowed; found 150000000000.0",
        ),
        (
            {"dark_while_reconfiguring": "all"},
            "dark_while_reconfiguring: value not allowed; found 'all'",
        ),
    ],
)
def test_constructor_and_file_say_the_same(keys: dict[str, Any], said: str) -> None:
    """Only the place differs: the class, or the path in the file."""
    keys = {"rows": 4, "cols": 4, **keys}
    with pytest.raises(InputError) as made:
        Lightpath(**keys)
    assert str(made.value).startswith(f"Lightpath.{said}")
    with pytest.raises(InputError) as read:
        load_fabric({"kind": "lightpath", **keys}, "mine.toml: fabric")
    place = "mine.toml: fabric."
    assert str(read.value) == place + str(made.value).removeprefix("Lightpath.")


def test_numpy_and_sequences_are_taken_where_their_meaning_is_plain() -> None:
    """What is kept is plain Python: it can be hashed and written to a file."""
    fabric = Lightpath(rows=np.int64(4), cols=np.uint8(4))
    assert fabric == Lightpath(rows=4, cols=4)
    assert type(fabric.rows) is int
    given: Any = np.arange(4)
    for nodes in (given, [0, 1, 2, 3], range(4)):
        task = Collective("all-reduce", nodes, 64)
        assert task.nodes == (0, 1, 2, 3)
        assert {type(node) for node in task.nodes} == {int}
    with pytest.raises(InputError, match=r"Collective\.nodes\[0\]: .*found 0\.0"):
        Collective("all-reduce", np.array([0, 1.5]), 64)


def test_conditions_between_fields_come_after_their_types() -> None:
    """A wrong type is never compared with anything."""
    wrong: Any = "many"
    with pytest.raises(InputError, match=r"^Ocs\.switches: .*allowed: integer$"):
        Ocs(nodes=4, switches=wrong, bits_per_second_per_node=1)
    with pytest.raises(InputError, match="less than a bit per second"):
        Ocs(nodes=4, switches=2, bits_per_second_per_node=1)
    with pytest.raises(LightloomError, match=r"^Training\.batch_size"):
        Training(wrong, "a100", "fp16", "adam")


@pytest.mark.parametrize("kind", FABRICS)
def test_fabrics_document_their_parameters(kind: str) -> None:
    """Every key is in the signature, and in the docstring under Parameters."""
    record = FABRICS[kind].record
    text = inspect.getdoc(record) or ""
    assert "\nParameters\n----------\n" in text
    lines = text[text.index("Parameters\n") :].splitlines()
    named = [
        name.strip()
        for line in lines
        if line and not line[0].isspace()
        for name in line.split(",")
    ]
    for name in inspect.signature(record).parameters:
        assert name == "kind" or name in named


def test_demand_of_a_matrix() -> None:
    """Rows are sources; what is zero is no row."""
    expected = Demand((0, 2), (1, 0), (5, 7))
    matrix = [[0, 5, 0], [0, 0, 0], [7, 0, 0]]
    assert Demand.from_matrix(matrix) == expected
    assert Demand.from_matrix(np.array(matrix, dtype=np.uint16)) == expected


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[0, 1]], "not square"),
        ([[0, 1], [0]], "not square"),
        ([], "not square"),
        ([[0, 0.5], [0, 0]], "found 'float64'; allowed: whole bytes"),
        ([[0, 10**30], [0, 0]], r"matrix\[0\]\[1\]: bytes not allowed; found 10{30};"),
        ([[0, -1], [0, 0]], r"matrix\[0\]\[1\]: bytes not allowed; found -1"),
        ([[0, 1], [0, 2]], r"matrix\[1\]\[1\]: a node sends to itself; found 2"),
    ],
)
def test_matrices_that_are_no_demand(matrix: list[list[Any]], said: str) -> None:
    """Each is refused at its entry."""
    with pytest.raises(InputError, match=said):
        Demand.from_matrix(matrix)


def test_an_instance_fills_in_nodes_and_name() -> None:
    """A collective without nodes is one of all of them."""
    instance = Instance(Lightpath(rows=2, cols=2), Collective("all-reduce", (), 64))
    assert instance.task == Collective("all-reduce", (0, 1, 2, 3), 64)
    assert instance.name == "lightpath-4/all-reduce-64B"
    matrix = [[0, 3], [0, 0]]
    demand = Instance(
        Ocs(nodes=2, switches=1, bits_per_second_per_node=8), Demand.from_matrix(matrix)
    )
    assert demand.name == "ocs-2/demand-3B"


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (Collective("all-reduces", (), 64), "did you mean all-reduce"),
        (Collective("all-reduce"), "buffer_bytes: buffer size not allowed; found 0"),
        (Collective("all-reduce", (0, 4), 64), "outside the fabric; found 4"),
        (Demand((0,), (4,), (1,)), "demand row 0: node outside the fabric; found 4"),
        (Demand((0,), (1, 2), (1,)), "columns differ in length"),
        (Demand((0,), (1,), (2**70,)), "demand row 0: bytes not allowed"),
        ("all-reduce", "not a task; found 'all-reduce'"),
    ],
)
def test_an_instance_refuses_what_does_not_fit(task: object, said: str) -> None:
    """The constructor speaks, and not a room further down."""
    with pytest.raises(InputError, match=said):
        Instance(Lightpath(rows=2, cols=2), task)
    wrong: Any = "lightpath-16"
    with pytest.raises(InputError, match="not a fabric; found 'lightpath-16'"):
        Instance(wrong, Demand((), (), ()))
