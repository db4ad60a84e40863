"""Collectives as flows: what they put on links and circuits, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.replay.execute import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule

_BYTES_OF_RING = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1}


@dataclass(frozen=True, eq=False)
class CollectiveFlows:
    """A collective: nothing for `delay_ps`, then all its flows at once.

    It ends with the last flow, or after the delay where there is none.

    `src`, `dst`, `bytes`: of each flow; bytes are more than 0, and ends differ.
    `delay_ps`: what it costs beside, 0 or more.
    """

    src: IntArray
    dst: IntArray
    bytes: IntArray
    delay_ps: int


class CollectiveModel(Protocol):
    """A way to account for collectives."""

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return the flows of a collective of a full buffer of `size_bytes`.

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
class RingCollectives:
    """Collectives on a ring through the devices in rank order.

    Of n devices each sends to the next, over all steps together, ceil(2 (n-1) B / n)
    bytes in an all-reduce of B bytes, and ceil((n-1) B / n) in a reduce-scatter and in
    an all-gather; the steps, 2 (n-1) or n-1, pay alpha each. In an all-to-all each
    device sends ceil(B / n) bytes to each other one, and pays alpha once.

    `alpha_ps`: fixed cost of a step.
    """

    alpha_ps: int = 0

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return the flows of a collective.

        `devices`: who takes part, shape (ranks,); each sends to the next, the last to
        the first.

        Raises `InputError`: another operation.
        """
        ranks = len(devices)
        if op not in {*_BYTES_OF_RING, "all-to-all"}:
            what, allowed = "invalid operation for a ring", "all-to-all, "
            allowed += ", ".join(_BYTES_OF_RING)
            fix = "use ReplayedCollectives with a schedule of it"
            raise InputError(what, found=op, allowed=allowed, fix=fix)
        if ranks == 1 or not size_bytes:
            return _only(0)
        if op == "all-to-all":
            src, dst = np.divmod(np.arange(ranks**2, dtype=np.int64), ranks)
            others = src != dst
            src, dst = devices[src[others]], devices[dst[others]]
            share, steps = -(-size_bytes // ranks), 1
        else:
            src, dst = devices, np.concatenate([devices[1:], devices[:1]])
            steps = _BYTES_OF_RING[op] * (ranks - 1)
            share = -(-steps * size_bytes // ranks)
        size = np.full(len(src), share, dtype=np.int64)
        return CollectiveFlows(src, dst, size, steps * self.alpha_ps)


@dataclass(frozen=True, eq=False)
class ReplayedCollectives:
    """Collectives that take the time of a schedule, on circuits of their own.

    They load no link and no circuit of the iteration.

    `schedule_of`: returns the schedule of a collective, whose operation, number of
    ranks and buffer it must have; asked once for each different collective.
    """

    schedule_of: Callable[[Collective], Schedule]
    _known: dict[tuple[str, tuple[int, ...], int], int] = field(default_factory=dict)

    def flows(self, op: str, devices: IntArray, size_bytes: int) -> CollectiveFlows:
        """Return no flows, after the completion time of the schedule.

        `devices`: who takes part, in rank order, shape (ranks,). `size_bytes`: the full
        buffer. A schedule is asked for once for each operation, devices and size.

        Raises `InputError`: the schedule is one of something else, or cannot be
        replayed.
        """
        if len(devices) == 1 or not size_bytes:
            return _only(0)
        key = op, tuple(devices.tolist()), size_bytes
        if key not in self._known:
            asked = Collective(op, key[1], size_bytes)
            self._known[key] = replayed_ps(self.schedule_of(asked), asked)
        return _only(self._known[key])


def replayed_ps(schedule: Schedule, asked: Collective) -> int:
    """Return the completion time of a schedule, once it is one of what was asked.

    `asked`: the collective that it should serve: operation, number of ranks and bytes
    are compared; nodes may differ.

    Raises `InputError`: the schedule is one of something else, or cannot be replayed.
    """
    task = schedule.task
    same = isinstance(task, Collective) and (
        (task.op, task.rank_count, task.buffer_bytes)
        == (asked.op, asked.rank_count, asked.buffer_bytes)
    )
    if not same:
        what, where = "a schedule of another task than the collective's", "collectives"
        allowed = f"{asked.op} of {asked.buffer_bytes} bytes, {asked.rank_count} ranks"
        raise InputError(what, where=where, found=type(task).__name__, allowed=allowed)
    return replay(schedule).completion_time_ps


def _only(delay_ps: int) -> CollectiveFlows:
    """Return a delay without flows."""
    empty = np.empty(0, dtype=np.int64)
    return CollectiveFlows(empty, empty, empty, delay_ps)
