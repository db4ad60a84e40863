"""What the replay of an iteration asks of a network, and collectives as its flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Collectives
    from lightloom.replay.timeline import Reconfiguration


@dataclass(frozen=True, eq=False)
class Jobs:
    """What an iteration asks of the network: its transfers, then its collectives.

    Job i is transfer i; job ``len(src) + j`` is collective j.

    `device_count`: number of devices; device i is node i of the fabric. `src`, `dst`,
    `bytes`, `call`: of each transfer, in the order of the dependencies that make them;
    bytes are more than 0, and ends differ.
    """

    device_count: int
    src: IntArray
    dst: IntArray
    bytes: IntArray
    call: IntArray
    collectives: Collectives

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.src) + len(self.collectives)

    def name(self, job: int) -> str:
        """Return a job in words."""
        if job < len(self.src):
            pair = f"{self.src[job]} -> {self.dst[job]}"
            return f"transfer {pair} of {self.bytes[job]} bytes"
        row = job - len(self.src)
        devices = len(self.collectives.devices[row])
        return f"{self.collectives.op[row]} {row} of {devices} devices"


class Network(Protocol):
    """A network at work; time only goes forward."""

    @property
    def start_ps(self) -> dict[int, int]:
        """When each job that has begun did so."""

    def release(self, now_ps: int, jobs: list[int]) -> None:
        """Take in jobs whose data are there now, sorted; maybe none.

        Called once after each `advance`, and at time 0.

        Parameters
        ----------
        now_ps
            Time in picoseconds.
        jobs
            Numbers of jobs, ascending.
        """

    def next_ps(self) -> int | None:
        """Return when the network next changes by itself; ``None`` for never."""

    def advance(self, now_ps: int) -> list[int]:
        """Move on to now, which is not after `next_ps`; return the jobs that ended."""

    def stalled(self) -> str:
        """Say in a clause what the jobs that never ended wait for."""

    def reconfigurations(self) -> tuple[Reconfiguration, ...]:
        """Return every reconfiguration so far, by (start, plane)."""


class NetworkKind(Protocol):
    """How a fabric carries an iteration; may be used again and again."""

    def open(self, jobs: Jobs) -> Network:
        """Return the network at time 0, with all jobs to come."""


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
            raise InputError(what, found=op, allowed=allowed)
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


def _only(delay_ps: int) -> CollectiveFlows:
    """Return a delay without flows."""
    empty = np.empty(0, dtype=np.int64)
    return CollectiveFlows(empty, empty, empty, delay_ps)
