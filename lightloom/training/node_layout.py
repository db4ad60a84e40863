"""The nodes that a training runs on, and how many of its replicas are replayed.

Where the replicas fill a fabric they are all alike: moved along by one replica (or one
server) nothing changes, neither the traffic nor what it shares. A few of them, on a
smaller fabric of the same kind, then do the same at the same times as all of them. On
some fabrics that holds too where nodes stay idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fabric import step_ps
from lightloom.replay.workload.network import CollectiveFlows, RingCollectives
from lightloom.synth.fabrics import plug_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.fabrics.training_plug import Rows
    from lightloom.training.strategy import Strategy


@dataclass(frozen=True)
class NodeLayout:
    """Where the replicas are that are replayed.

    `fabric`: the fabric, or the smaller one that stands for it. `nodes`: of each
    replica that is replayed, in ring order: the nodes of its devices. `rings`: lengths
    of the rings in which twins sum, along each axis of a grid of replicas
    (`twin_sums`); mostly one ring through all. Their product is how many replicas there
    are in truth; `nodes` has as many rows, or fewer where there is one ring.
    """

    fabric: AnyFabric
    nodes: tuple[tuple[int, ...], ...]
    rings: tuple[int, ...]

    @property
    def replicas(self) -> int:
        """How many replicas there are in truth."""
        return prod(self.rings)

    @property
    def replayed_rings(self) -> tuple[int, ...]:
        """Lengths of the rings of the replicas that are replayed."""
        return self.rings if self.is_whole else (len(self.nodes),)

    @property
    def is_whole(self) -> bool:
        """Whether every replica is replayed."""
        return len(self.nodes) == self.replicas

    def collectives(self) -> RingCollectives | AlikeReplicas:
        """Return how collectives load the fabric."""
        alpha_ps = step_ps(self.fabric)
        if self.is_whole:
            return RingCollectives(alpha_ps)
        return AlikeReplicas(alpha_ps, self.replicas)


@dataclass(frozen=True)
class AlikeReplicas:
    """Collectives of a few replicas that stand for many.

    An all-reduce goes over replicas, and each of its devices sends what it would send
    in a ring of all of them; other collectives are within a replica.

    `alpha_ps`: fixed cost of a step.
    """

    alpha_ps: int
    replicas: int

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return the flows of a collective, as `RingCollectives` does.

        `op`: name of the operation; an all-reduce is taken as one part of a ring over
        all replicas. `devices`: who takes part of the replicas that are replayed, shape
        (ranks,).
        """
        if op != "all-reduce" or not size_bytes:
            return RingCollectives(self.alpha_ps).flows(op, devices, size_bytes)
        steps = 2 * (self.replicas - 1)
        share = np.full(len(devices), -(-steps * size_bytes // self.replicas))
        return CollectiveFlows(
            devices, np.roll(devices, -1), share, steps * self.alpha_ps
        )


def layout(
    fabric: AnyFabric,
    strategy: Strategy,
    nodes: Sequence[int] | None = None,
    *,
    whole: bool = False,
) -> NodeLayout:
    """Return where the replicas of a strategy are.

    `nodes`: nodes of the training in the order in which they are taken; by default all.

    Raises `InputError`: fewer nodes than devices, nodes that are no whole rows of a
    grid, or a kind of fabric on which nothing is made; `InfeasibleError`: replicas that
    leave their row of a grid, or more than its rows have room for.
    """
    k, replicas = strategy.model_parallel, strategy.replicas
    taken = range(fabric.node_count) if nodes is None else nodes
    require_room(strategy, len(taken))
    placed = plug_of(fabric).layout
    used = strategy.devices
    alike = used == fabric.node_count or placed.idle_alike(fabric, used)
    if nodes is None and not whole and alike:
        small = placed.alike(fabric, k)
        if small is not None and small.node_count < used:
            blocks = _blocks(range(small.node_count), k)
            return NodeLayout(small, blocks, (replicas,))
    if placed.rows is not None:
        return NodeLayout(fabric, *replica_grid(placed.rows(fabric), strategy, taken))
    blocks = _blocks(taken[: strategy.devices], k)
    if placed.ring and strategy.devices < fabric.node_count:
        blocks = there_and_back(blocks)
    return NodeLayout(fabric, blocks, (replicas,))


def require_room(strategy: Strategy, nodes: int) -> None:
    """Raise unless a strategy has a node for each device.

    Raises `InputError`: there are fewer.
    """
    if strategy.devices > nodes:
        raise InputError(
            "more devices than nodes",
            where="model_parallel * replicas",
            found=strategy.devices,
            allowed=f"at most {nodes}",
        )


def require_rows(fabric: AnyFabric, nodes: int, where: str) -> None:
    """Raise if so many nodes are no whole rows, where a training has some of the rows.

    Raises `InputError`: they are not.
    """
    rows_of = plug_of(fabric).layout.rows
    grid = None if rows_of is None else rows_of(fabric)
    if grid is not None and grid.any_rows and nodes % grid.cols:
        what = f"a job has whole rows of a fabric of kind {fabric.kind}"
        allowed = f"multiples of {grid.cols} nodes"
        raise InputError(what, where=where, found=nodes, allowed=allowed)


def _blocks(nodes: Sequence[int], k: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(nodes[first : first + k]) for first in range(0, len(nodes), k))


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
