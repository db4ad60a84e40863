"""Replays of iterations that were cut and placed elsewhere, on any fabric."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import column
from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.fabric import NearCircuits, step_ps
from lightloom.core.iteration import NO_CALL, Dependencies, Operations
from lightloom.replay.workload import RingCollectives
from lightloom.replay.workload.collective_flows import CollectiveFlows
from lightloom.training.call_schedules import CallSchedules, with_control
from lightloom.training.fabric_networks import modes
from lightloom.training.replayed_iteration import called_replay, kept_replay

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload.collective_flows import CollectiveModel
    from lightloom.training.fabric_networks import CircuitMode
    from lightloom.training.training_plan import ReplayedIteration, TrainingRequest


def replay_recorded(
    iteration: Iteration, fabric: AnyFabric, request: TrainingRequest, seed: int = 0
) -> ReplayedIteration:
    """Return the fastest replay of an iteration over the ways to set circuits.

    What goes between nodes that no circuit joins is passed on by others; see `relayed`
    and `RelayedRings`.

    Raises `InputError`: more devices than nodes, or a way to set circuits that the
    fabric lacks; `InfeasibleError, NoAnswerError`: no way serves the iteration.
    """
    if iteration.device_count > fabric.node_count:
        raise InputError(
            "more devices than nodes",
            where="devices",
            found=iteration.device_count,
            allowed=f"at most {fabric.node_count}",
            fix="use a larger fabric",
        )
    fabric = with_control(fabric, request)
    iteration = relayed(iteration, fabric)
    replays: list[ReplayedIteration] = []
    failed: InfeasibleError | NoAnswerError | None = None
    for way in modes(fabric, request.circuits, request.controlled_by):
        try:
            replays.append(_replayed(iteration, fabric, request, way, seed))
        except (InfeasibleError, NoAnswerError) as problem:
            failed = failed or problem
    if not replays:
        assert failed is not None
        raise failed
    return min(replays, key=lambda replay: replay.iteration_ps)


def _replayed(
    iteration: Iteration,
    fabric: AnyFabric,
    request: TrainingRequest,
    way: CircuitMode,
    seed: int,
) -> ReplayedIteration:
    if way == "per-call":
        schedules = CallSchedules(fabric, request.collectives, seed)
        return called_replay(iteration, schedules, request.launch)
    collectives = RelayedRings(fabric, RingCollectives(step_ps(fabric)))
    return kept_replay(iteration, fabric, collectives, way, request)


@dataclass(frozen=True, eq=False)
class RelayedRings:
    """Collectives on rings, where nodes pass on what no circuit joins.

    `rings`: the collectives as they would be if all nodes could be joined.
    """

    fabric: AnyFabric
    rings: CollectiveModel

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return the flows of a collective, one for each leg.

        Every step waits for its longest way, each leg of which costs what a step does.
        """
        asked, fabric = self.rings.flows(op, devices, size_bytes), self.fabric
        if not isinstance(fabric, NearCircuits) or not len(asked.src):
            return asked
        legs = int(fabric.circuits_apart(asked.src, asked.dst).max())
        if legs <= 1:
            return asked
        moved: Counter[tuple[int, int]] = Counter()
        ends = zip(asked.src.tolist(), asked.dst.tolist(), strict=True)
        for (src, dst), size in zip(ends, asked.bytes.tolist(), strict=True):
            way = _way(fabric, src, dst, fabric.node_count)
            for leg in pairwise((src, *way, dst)):
                moved[leg] += size
        src, dst = (column(leg[end] for leg in moved) for end in range(2))
        return CollectiveFlows(src, dst, column(moved.values()), asked.delay_ps * legs)


def relayed(iteration: Iteration, fabric: AnyFabric) -> Iteration:
    """Return an iteration in which no transfer needs several circuits in a row.

    A transfer between nodes that no circuit of the fabric can join goes by way of
    others, as few as can be: each passes the data on when it has all of them, which
    takes it no time. Of several that would do the sum of the ends says which. What was
    one call is one call for each leg.

    `fabric`: the fabric, with at least as many nodes.
    """
    moving = np.flatnonzero(iteration.is_transfer)
    if not isinstance(fabric, NearCircuits) or not len(moving):
        return iteration
    links, operations = iteration.dependencies, iteration.operations
    src, dst = (operations.device[ends[moving]] for ends in (links.src, links.dst))
    apart = fabric.circuits_apart(src, dst)
    legs = int(apart.max())
    if legs <= 1:
        return iteration
    count, far = len(operations), moving[apart > 1]
    pairs = list(zip(src[apart > 1].tolist(), dst[apart > 1].tolist(), strict=True))
    ways = {pair: _way(fabric, *pair, fabric.node_count) for pair in set(pairs)}
    devices = [relay for pair in pairs for relay in ways[pair]]
    names = tuple(
        f"{operations.name[links.src[row]]} by {relay}"
        for row, pair in zip(far.tolist(), pairs, strict=True)
        for relay in ways[pair]
    )
    call = np.where(links.call == NO_CALL, NO_CALL, links.call * legs)
    near = np.ones(len(links), dtype=np.bool_)
    near[far] = False
    rows = [np.stack([links.src, links.dst, links.bytes, call])[:, near]]
    # Operations of relays stand behind the others, before collectives.
    rows[0][:2] += np.where(rows[0][:2] >= count, len(devices), 0)
    passed: list[tuple[int, int, int, int]] = []
    task = count
    for row, pair in zip(far.tolist(), pairs, strict=True):
        between = range(task, task + len(ways[pair]))
        task = between.stop
        stops = [int(links.src[row]), *between, int(links.dst[row])]
        for leg, ends in enumerate(pairwise(stops)):
            of_call = NO_CALL if call[row] == NO_CALL else int(call[row]) + leg
            passed.append((*ends, int(links.bytes[row]), of_call))
    rows.append(np.array(passed, dtype=np.int64).T)
    return replace(
        iteration,
        operations=_with_relays(operations, names, devices),
        dependencies=Dependencies(*np.concatenate(rows, axis=1)),
    )


def _way(fabric: NearCircuits, src: int, dst: int, nodes: int) -> list[int]:
    """Return the nodes between two that no circuit joins."""
    every = np.arange(nodes, dtype=np.int64)
    to_dst = fabric.circuits_apart(every, np.full(nodes, dst))
    way = [src]
    while to_dst[way[-1]] > 1:
        near = fabric.circuits_apart(np.full(nodes, way[-1]), every) == 1
        nearer = np.flatnonzero(near & (to_dst == to_dst[way[-1]] - 1))
        way.append(int(nearer[(src + dst) % len(nearer)]))
    return way[1:]


def _with_relays(
    operations: Operations, names: tuple[str, ...], devices: list[int]
) -> Operations:
    """Return operations with those of relays, of no time, behind them."""
    more = np.zeros(len(devices), dtype=np.int64)
    last = 1 + int(operations.priority.max(initial=0))
    return Operations(
        (*operations.name, *names),
        np.concatenate([operations.device, np.array(devices, dtype=np.int64)]),
        np.concatenate([operations.duration_ps, more]),
        np.concatenate([operations.priority, more + last]),
    )
