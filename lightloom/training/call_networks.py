"""A fabric that serves the calls of an iteration, each by a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Collective, Demand, Task
from lightloom.instances.fabrics import load_fabric
from lightloom.replay.workload import CallQueue, ScheduledCalls
from lightloom.replay.workload.call_queue import alone
from lightloom.training.iteration_traffic import pair_demand
from lightloom.training.node_layout import NodeLayout, require_room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.iteration import Iteration
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.workload.call_queue import OpenCallQueue, ServedCall
    from lightloom.replay.workload.network import Jobs
    from lightloom.training.call_schedules import CallSchedules
    from lightloom.training.strategy import Strategy
    from lightloom.training.training_plan import TrainingRequest

_FEW = 2
"""Replicas that stand for all where calls are served one by one."""


class KeptQueue:
    """A queue of calls whose record can be asked for once an iteration has ended."""

    def __init__(self, kind: CallQueue) -> None:
        self._kind = kind
        self._open: OpenCallQueue | None = None

    def open(self, jobs: Jobs) -> OpenCallQueue:
        """Return the queue at time 0, with nothing in it."""
        self._open = self._kind.open(jobs)
        return self._open

    @property
    def served(self) -> tuple[ServedCall, ...]:
        """The schedules that ran in the last iteration, in order."""
        return () if self._open is None else self._open.served


@dataclass(frozen=True)
class AllReplicas:
    """The calls of all replicas, where the first two stand for them.

    All replicas do the same at the same times, so what one asks for, all do: their
    transfers are one demand, and their collectives begin together.

    `nodes`: of each replica in truth: the nodes of its devices.
    """

    nodes: tuple[tuple[int, ...], ...]

    def __call__(self, task: Task) -> tuple[Task, ...]:
        """Return a task of the first two replicas as tasks of all, without repeats.

        `task`: transfers within the two, a collective within one of them, or a
        collective of devices and their twins.
        """
        place = {
            node: (replica, device)
            for replica, row in enumerate(self.nodes[:_FEW])
            for device, node in enumerate(row)
        }
        if isinstance(task, Demand):
            rows = [
                (place[src][1], place[dst][1], size)
                for src, dst, size in zip(task.src, task.dst, task.bytes, strict=True)
                if place[src][0] == 0
            ]
            every = [
                (row[src], row[dst], size)
                for row in self.nodes
                for src, dst, size in rows
            ]
            return (Demand.from_rows(every),)
        replicas = {place[node][0] for node in task.nodes}
        devices = dict.fromkeys(place[node][1] for node in task.nodes)
        if len(replicas) > 1:
            groups = [tuple(row[one] for row in self.nodes for one in devices)]
        else:
            groups = [tuple(row[one] for one in devices) for row in self.nodes]
        return tuple(Collective(task.op, group, task.buffer_bytes) for group in groups)


def call_layout(
    fabric: AnyFabric, strategy: Strategy, nodes: Sequence[int] | None
) -> NodeLayout:
    """Return where replicas stand where circuits are set for every call.

    One after another, along the nodes as they are numbered: any two of them can be
    joined.

    Raises `InputError`: fewer nodes than devices.
    """
    taken = range(fabric.node_count) if nodes is None else nodes
    require_room(strategy, len(taken))
    k = strategy.model_parallel
    rows = tuple(
        tuple(taken[first : first + k]) for first in range(0, strategy.devices, k)
    )
    return NodeLayout(fabric, rows, (strategy.replicas,))


def calls_demand(calls: Sequence[ServedCall]) -> Demand:
    """Return the bytes that each pair of nodes exchanges in some calls."""
    none = np.empty(0, dtype=np.int64)
    src, dst, size = [none], [none], [none]
    for call in calls:
        for part in call.schedule.parts:
            src.append(part.transfers.src)
            dst.append(part.transfers.dst)
            size.append(call.schedule.transfer_bytes(part))
    return pair_demand(np.concatenate(src), np.concatenate(dst), np.concatenate(size))


def few_replicas(layout: NodeLayout, *, whole: bool) -> NodeLayout:
    """Return where the replicas stand that are replayed for all."""
    nodes = layout.nodes if whole else layout.nodes[:_FEW]
    return NodeLayout(layout.fabric, nodes, (layout.replicas,))


def call_queue(
    iteration: Iteration,
    schedules: CallSchedules,
    nodes: Sequence[tuple[int, ...]],
    replayed: int,
) -> CallQueue:
    """Return the network of an iteration whose calls are schedules."""
    every = AllReplicas(tuple(nodes)) if replayed < len(nodes) else alone
    return CallQueue(ScheduledCalls(schedules.asked(iteration, every), every))


def with_control(fabric: AnyFabric, request: TrainingRequest) -> AnyFabric:
    """Return a fabric with the times of its controller and of synchronisation.

    A controller makes each reconfiguration longer, and a step begins when all nodes
    have met: both are what the fabric's delay and alpha are.
    """
    if isinstance(fabric, PacketFabric):
        return fabric
    more = request.controller_ps, request.synchronisation_ps
    if not any(more):
        return fabric
    table = {
        **fabric.table(),
        "reconfiguration_ps": fabric.reconfiguration_ps + more[0],
        "alpha_ps": fabric.alpha_ps + more[1],
    }
    return load_fabric(table)
