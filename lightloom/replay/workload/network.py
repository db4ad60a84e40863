"""What the replay of an iteration asks of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

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
