"""The catalogue of algorithms: what it lists, and how it refuses."""

from __future__ import annotations

import importlib
import pkgutil

import msgspec
import pytest

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.collectives import COLLECTIVES
from lightloom.plans import algorithms
from lightloom.plans.algorithms import ALGORITHMS, make_algorithm


def test_every_collective_has_an_algorithm() -> None:
    """Each operation can be done, and every entry's presets make a record."""
    offered = {op for entry in ALGORITHMS.values() for op in entry.ops}
    assert offered == set(COLLECTIVES)
    for name, entry in ALGORITHMS.items():
        made = make_algorithm(name, {})
        assert isinstance(made, msgspec.Struct)
        assert set(made.ops) == set(entry.ops)


def test_the_folder_holds_nothing_but_algorithms() -> None:
    """What they share stands elsewhere, so that a newcomer sees what there is."""
    for info in pkgutil.iter_modules(algorithms.__path__):
        module = importlib.import_module(f"{algorithms.__name__}.{info.name}")
        assert hasattr(module, "ALGORITHM"), info.name


def test_unknown_algorithm() -> None:
    """Near names are suggested."""
    with pytest.raises(InputError, match="did you mean multiport"):
        make_algorithm("multi-port", {})


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("multiport", {"port": 3}, "unknown key 'port'.*did you mean ports"),
        ("multiport", {"ports": 0}, "ports.*>= 1"),
        ("multiport", {"signed": 2}, "signed"),
        ("radices", {"radices": ["four"]}, "radices.*'four'.*int"),
        ("radices", {"radices": [4, 2.5]}, "radices.*2.5.*int"),
        ("radices", {"radices": [16, 1]}, "radices.*>= 2"),
        ("radices", {"radices": 16}, "radices"),
        ("radices", {"near_first": 1}, "near_first.*found 1.*true or false"),
        ("double-binary-tree", {"pieces": -1}, "pieces.*>= 1"),
    ],
)
def test_bad_parameters(name: str, parameters: dict[str, object], message: str) -> None:
    """The message names the parameter, what was found, and what is allowed."""
    with pytest.raises(InputError, match=message):
        make_algorithm(name, parameters)


def test_algorithm_that_cannot_do_it() -> None:
    """The algorithms that can are named, whether asked early or late."""
    able = "does not do all-to-all.*balanced-digraph, bruck"
    with pytest.raises(InputError, match=f"ring {able}"):
        make_algorithm("ring", {}, op="all-to-all")
    task = Collective("all-to-all", (0, 1), 8, 2)
    with pytest.raises(InputError, match=able):
        make_algorithm("ring", {}).plan(task, 1)
