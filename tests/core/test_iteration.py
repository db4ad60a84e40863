"""Iterations: what is refused, and what the message says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.iteration import (
    Collectives,
    Dependencies,
    Iteration,
    Operations,
)

OPERATIONS = Operations(
    ("a", "b", "c"), column([0, 1, 1]), column([5, 6, 0]), column([0, 0, 0])
)
DEPENDENCIES = Dependencies(
    column([0, 1, 0]), column([1, 2, 3]), column([8, 8, 0]), column([0, -1, -1])
)
COLLECTIVES = Collectives(("all-reduce",), column([64]), Ragged.from_lists([[1, 0]]))


def made(**changes: dict[str, Any]) -> Iteration:
    """Return the small iteration with columns replaced."""
    return Iteration(
        2,
        replace(OPERATIONS, **changes.get("operations", {})),
        replace(DEPENDENCIES, **changes.get("dependencies", {})),
        replace(COLLECTIVES, **changes.get("collectives", {})),
    )


def test_what_moves_bytes_between_devices_is_a_transfer() -> None:
    """Neither order alone nor bytes on one device are."""
    iteration = made()
    assert iteration.is_transfer.tolist() == [True, False, False]
    assert iteration.task_count == 4
    assert [iteration.task_name(task) for task in range(4)] == [
        "a",
        "b",
        "c",
        "all-reduce 0",
    ]


@pytest.mark.parametrize(
    ("room", "key", "values", "words"),
    [
        ("operations", "device", [0, 2, 1], "operations.device, row 1: invalid device"),
        ("operations", "device", [-1, 0, 1], "found -1; allowed: 0 to 1"),
        ("operations", "duration_ps", [0, 0, -1], "row 2: invalid time; found -1"),
        ("operations", "duration_ps", [0, 0, 10**15 + 1], "allowed: 0 to 10000"),
        ("operations", "priority", [0], "the columns differ in length; found [3, 3"),
        ("dependencies", "src", [0, 1, 4], "dependencies.src, row 2: invalid task"),
        ("dependencies", "dst", [1, -1, 3], "dependencies.dst, row 1: invalid task"),
        ("dependencies", "bytes", [-1, 0, 0], "dependencies.bytes, row 0"),
        ("dependencies", "bytes", [2**60, 0, 0], "invalid size"),
        ("dependencies", "bytes", [8, 8, 8], "give the bytes to the collective"),
        ("dependencies", "call", [0, 0, -1], "a call of what is no transfer; found 0"),
        ("dependencies", "call", [-2, -1, -1], "invalid call; found -2"),
        ("dependencies", "call", [0], "dependencies: the columns differ in length"),
        ("collectives", "bytes", [-1], "collectives.bytes, row 0: invalid size"),
        ("collectives", "op", [], "collectives: the columns differ"),
        ("collectives", "devices", [[0, 2]], "collectives.devices, row 1"),
        ("collectives", "devices", [[1, 0, 1]], "a device twice; found 1"),
        ("collectives", "devices", [[]], "a collective of nobody"),
    ],
)
def test_what_cannot_be_is_refused(
    room: str, key: str, values: list[Any], words: str
) -> None:
    """The message names the column, the row, what was found and what is allowed."""
    makers = {"devices": Ragged.from_lists, "op": tuple}
    with pytest.raises(InputError) as caught:
        made(**{room: {key: makers.get(key, column)(values)}})
    assert words in str(caught.value)


def test_a_cycle_is_printed() -> None:
    """The error names the tasks of the cycle in their order."""
    dependencies = Dependencies.plain(
        column([0, 1, 3, 0]), column([1, 3, 0, 2]), column([8, 0, 0, 0])
    )
    with pytest.raises(InputError) as caught:
        Iteration(2, OPERATIONS, dependencies, COLLECTIVES)
    found = str(caught.value).split("found '")[1].split("'")[0].split(" -> ")
    assert found[0] == found[-1]
    assert set(found) == {"a", "b", "all-reduce 0"}


def test_a_task_does_not_wait_for_itself() -> None:
    """A task that depends on itself is refused as a cycle."""
    dependencies = Dependencies.plain(column([2]), column([2]), column([0]))
    with pytest.raises(InputError, match="c -> c"):
        Iteration(2, OPERATIONS, dependencies, COLLECTIVES)
