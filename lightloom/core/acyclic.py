"""Edges that must not go round in a cycle."""

from __future__ import annotations

import graphlib
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def refuse_cycle(
    names: Sequence[str],
    edges: Iterable[tuple[int, int]],
    where: str,
    error: type[InputError] = InputError,
) -> None:
    """Raise `error`, printing a cycle, if (source, destination) rows have one.

    Parameters
    ----------
    names
        Name of each operation; edges name its rows.
    edges
        Rows of operations: the second waits for the first.
    where
        Place of the edges, for messages.
    error
        Error class to raise.
    """
    before: dict[int, list[int]] = {row: [] for row in range(len(names))}
    for src, dst in edges:
        before[dst].append(src)
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError as problem:
        found = " -> ".join(names[row] for row in problem.args[1])
        what = "operations wait for each other in a cycle"
        raise error(what, where=where, found=found) from None
