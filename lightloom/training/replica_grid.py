"""Grids of replicas: devices of a model on one row, twins on lines across rows."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from lightloom.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.synth.fabrics.training_plug import Rows
    from lightloom.training.strategy import Strategy

Nodes: TypeAlias = tuple[tuple[int, ...], ...]
"""The nodes of each replica, in the order of its devices."""

T = TypeVar("T")


def replica_grid(
    grid: Rows, strategy: Strategy, taken: Sequence[int]
) -> tuple[Nodes, tuple[int, ...]]:
    """Return the nodes of each replica, and the lengths of the rings of twins.

    A row has some replicas side by side, as few as will do: sums go along all other
    axes before they go along rows.

    `taken`: nodes of the training: whole rows, all of them unless `grid` has any rows.

    Raises `InputError`: nodes that are no whole rows, or some rows where all are
    needed; `InfeasibleError`: replicas that leave their row, or more of them than the
    rows have room for.
    """
    k = strategy.model_parallel
    cols, whole = grid.cols, grid.axes
    if k > cols:
        raise InfeasibleError(
            "a replica does not fit a row, and devices of one model send along rows",
            where="model_parallel",
            found=k,
            allowed=f"at most {cols} devices",
            fix="share the model between fewer devices, or use longer rows",
        )
    rows = _whole_rows(grid, taken)
    axes = (len(rows),) if grid.any_rows else whole
    rings = _rings(strategy.replicas, (*axes, cols // k))
    lines = [
        tuple(range(used)) if used == most else there_and_back(range(used))
        for used, most in zip(rings, (*whole, cols / k), strict=True)
    ]
    nodes = []
    for *outer, block in product(*lines):
        row = 0
        for place, length in zip(outer, axes, strict=True):
            row = row * length + place
        first = rows[row] * cols + block * k
        nodes.append(tuple(range(first, first + k)))
    return tuple(nodes), rings


def there_and_back(places: Sequence[T]) -> tuple[T, ...]:
    """Return places on part of a ring such that none is more than two from the next."""
    return (*places[::2], *places[1::2][::-1])


def _whole_rows(grid: Rows, taken: Sequence[int]) -> tuple[int, ...]:
    """Return the rows that are taken, in the order of their first nodes."""
    count: dict[int, int] = {}
    cols, nodes_of_all = grid.cols, grid.cols * prod(grid.axes)
    for node in taken:
        count[node // cols] = count.get(node // cols, 0) + 1
    broken = [row for row, nodes in count.items() if nodes < cols]
    if broken:
        raise InputError(
            "a training has whole rows of this fabric",
            where=f"nodes, row {broken[0]}",
            found=f"{count[broken[0]]} nodes",
            allowed=f"multiples of {cols} nodes, row by row",
        )
    if len(taken) < nodes_of_all and not grid.any_rows:
        raise InputError(
            "a training has all nodes of this fabric: some rows do not form a grid",
            where="nodes",
            found=len(taken),
            allowed=str(nodes_of_all),
        )
    return tuple(count)


def _rings(replicas: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return replicas as a product, a factor an axis, the first as large as can be.

    Raises `InfeasibleError`: there is none.
    """
    rings, rest = [], replicas
    for most in axes:
        rings.append(next(each for each in range(most, 0, -1) if not rest % each))
        rest //= rings[-1]
    if rest > 1:
        raise InfeasibleError(
            "so many replicas do not form a grid on these rows",
            where="replicas",
            found=replicas,
            allowed="a product of " + ", ".join(f"1 to {most}" for most in axes),
            fix="use other numbers of devices and replicas",
        )
    return tuple(rings)
