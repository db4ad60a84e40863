"""Calls of a fabric that serves them one by one: how long each takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.task import Collective, Demand, Task
from lightloom.core.units import transmission_ps
from lightloom.replay.execute import replay
from lightloom.replay.workload.collective_flows import RingCollectives, replayed_ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule


class CallCosts(Protocol):
    """How long calls take; the same call takes the same time."""

    def transfers_ps(self, demand: Demand) -> int:
        """Return how long transfers take that are issued together."""

    def collective_ps(self, op: str, devices: IntArray, size_bytes: int) -> int:
        """Return how long a collective of a full buffer of `size_bytes` takes.

        Parameters
        ----------
        op
            Name of the operation, as in an instance file.
        devices
            Who takes part, in rank order, shape (ranks,).
        size_bytes
            The full buffer, as in docs/spec/semantics.md.
        """


@dataclass(frozen=True)
class ClosedFormCalls:
    """Calls on nodes that send and receive at a fixed rate, nothing else in the way.

    Transfers take alpha, and then as long as the busiest node has to send or receive. A
    collective goes round a ring in equal steps, each of which takes alpha and the time
    of its share of the buffer: 2 (n-1) (alpha + ceil(B/n) / rate) for an all-reduce of
    n devices, half of it for a reduce-scatter or an all-gather; an all-to-all takes
    alpha + (n-1) ceil(B/n) / rate.

    `alpha_ps`: fixed cost, 0 or more. `bits_per_s`: rate of a node, 1 or more.
    """

    alpha_ps: int
    bits_per_s: int

    def transfers_ps(self, demand: Demand) -> int:
        """Return alpha and the time of the busiest node."""
        load: dict[tuple[bool, int], int] = {}
        rows = zip(demand.src, demand.dst, demand.bytes, strict=True)
        for src, dst, size_bytes in rows:
            for side in ((True, src), (False, dst)):
                load[side] = load.get(side, 0) + size_bytes
        return self.alpha_ps + transmission_ps(max(load.values()), self.bits_per_s)

    def collective_ps(self, op: str, devices: IntArray, size_bytes: int) -> int:
        """Return the time of a ring.

        `devices`: who takes part, in rank order, shape (ranks,); only their number
        matters. `size_bytes`: the full buffer; each rank's share of it is rounded up to
        the byte.

        Raises `InputError`: an operation without a ring.
        """
        # One picosecond of alpha a step counts the steps.
        steps = RingCollectives(1).flows(op, devices, size_bytes).delay_ps
        share = -(-size_bytes // len(devices))
        if op == "all-to-all" and steps:
            share *= len(devices) - 1
        return steps * (self.alpha_ps + transmission_ps(share, self.bits_per_s))


@dataclass(frozen=True, eq=False)
class ReplayedCalls:
    """Calls that take the completion time of a schedule.

    `schedule_of`: returns the schedule of a task, asked once for each different task.
    """

    schedule_of: Callable[[Task], Schedule]
    _known: dict[Task, int] = field(default_factory=dict)

    def transfers_ps(self, demand: Demand) -> int:
        """Return the completion time of the demand's schedule.

        Raises `InputError`: the schedule is one of another demand, or cannot be
        replayed.
        """
        if demand not in self._known:
            schedule = self.schedule_of(demand)
            if schedule.task != demand:
                what = "a schedule of another task than the call's demand"
                found = type(schedule.task).__name__
                raise InputError(what, where="calls", found=found)
            self._known[demand] = replay(schedule).completion_time_ps
        return self._known[demand]

    def collective_ps(self, op: str, devices: IntArray, size_bytes: int) -> int:
        """Return the completion time of the collective's schedule.

        `devices`: who takes part, in rank order, shape (ranks,); one alone takes 0 ps.
        `size_bytes`: the full buffer; an empty one takes 0 ps.

        Raises `InputError`: the schedule is one of another collective, or cannot be
        replayed.
        """
        if len(devices) == 1 or not size_bytes:
            return 0
        task = Collective(op, tuple(np.asarray(devices).tolist()), size_bytes)
        if task not in self._known:
            self._known[task] = replayed_ps(self.schedule_of(task), task)
        return self._known[task]
