"""Places in errors are those of the command line."""

from __future__ import annotations

import pytest

from lightloom.cli.failure import as_given
from lightloom.core.errors import InfeasibleError, InputError


@pytest.mark.parametrize(
    ("where", "given"),
    [
        ("problem", "--problem"),
        ("paths", "--param paths"),
        ("options.time_limit_s", "--time-limit"),
        ("options.extra.presolve", "--option presolve"),
        ("algorithm", "--algorithm"),
        ("algorithm.radices", "--param radices"),
        ("algorithm.radices.exchange[0]", "--param exchange[0]"),
        ("collective.op", "mine.toml: collective.op"),
        ("demand, row 3", "mine.toml: demand, row 3"),
        ("fabric.waveguides", "mine.toml: fabric.waveguides"),
        ("mine.toml: fabric.rows", "mine.toml: fabric.rows"),
        ("bytes.csv:3:2", "bytes.csv:3:2"),
        ("", ""),
    ],
)
def test_places(where: str, given: str) -> None:
    """An argument is its option, and a table is that of the instance."""
    options = {"problem": "--problem", "paths": "--param paths"}
    with (
        pytest.raises(InfeasibleError) as caught,
        as_given("mine.toml", **options),
    ):
        raise InfeasibleError("wrong", where=where)
    assert caught.value.where == given
    assert str(caught.value) == (f"{given}: wrong" if given else "wrong")


def test_unknown_parameters() -> None:
    """The name of the algorithm is not taken for that of a parameter."""
    with (
        pytest.raises(InputError, match=r"^--param: unknown key 'foo'"),
        as_given("x"),
    ):
        raise InputError("unknown key 'foo'", where="algorithm.ring")
