"""What the harness asks of a job: a key, limits, work, a row for what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.bench.event_clock import Event
    from lightloom.bench.results import Finding, Measured, Row


class IsolatedJob(Protocol):
    """Work for a process of its own, which can be pickled; read only.

    `lightloom.bench.job.BenchJob` is one.
    """

    @property
    def key(self) -> str:
        """The hash of what decides the outcome."""

    @property
    def memory_limit_bytes(self) -> int | None:
        """Memory at which the run is ended."""

    @property
    def search_limit_s(self) -> float:
        """Seconds after which the run is ended, without start-up and verification."""

    def find(self, tell: Callable[[Event], None]) -> Finding:
        """Do the work; what it raises becomes a finding.

        Parameters
        ----------
        tell
            Receives events: the start, the trace as it grows, the answer.
        """

    def row(self, finding: Finding, measured: Measured) -> Row:
        """Return the row of this job.

        Parameters
        ----------
        finding
            What came of it.
        measured
            How the run went.
        """
