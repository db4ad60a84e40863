"""Jobs: one question to one solver, and the key under which its row is kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.bench.participants import COMPLETION_TIME, OWN, is_callable
from lightloom.bench.question import BenchQuestion
from lightloom.bench.results import Row, code_version, label
from lightloom.core.task import Collective, Demand, Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.bench.event_clock import Event
    from lightloom.bench.results import Finding, Measured
    from lightloom.instances.instance import Instance

_KEY_LENGTH = 24
_GRACE_S = 8.0
"""A solver is told its time limit, and given this much more to stop by itself."""


@dataclass(frozen=True, kw_only=True)
class BenchJob(BenchQuestion):
    """A run that is to be made; see `lightloom.bench.results.Row` for the fields."""

    suite: str
    instance_sha256: str
    memory_limit_bytes: int | None

    @property
    def key(self) -> str:
        """The hash of what decides the outcome."""
        decisive = [
            self.instance_sha256,
            self.problem,
            self.entrant.solver,
            self.entrant.parameters,
            self.entrant.version,
            self.time_limit_s,
            self.memory_limit_bytes,
            self.seed,
        ]
        text = json.dumps(decisive, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def title(self) -> str:
        """The job in a few words."""
        solver = label(self.entrant.solver, self.entrant.parameters)
        return f"{self.problem} {self.instance.name} by {solver}, seed {self.seed}"

    @property
    def search_limit_s(self) -> float:
        """Seconds after which the search is ended."""
        solver = self.entrant.solver
        told = solver != OWN and not is_callable(solver)
        told = told and self.problem != COMPLETION_TIME
        return self.time_limit_s + (_GRACE_S if told else 0.0)

    def find(self, tell: Callable[[Event], None]) -> Finding:
        """Return what is answered."""
        from lightloom.bench.execute import ask

        return ask(self, tell)

    def row(self, finding: Finding, measured: Measured) -> Row:
        """Return the row of this job."""
        return Row(
            key=self.key,
            suite=self.suite,
            problem=self.problem,
            sense=self.entrant.sense,
            unit=self.entrant.unit,
            instance=self.instance.name,
            instance_sha256=self.instance_sha256,
            size=size_of(self.instance),
            solver=self.entrant.solver,
            parameters=self.entrant.parameters,
            version=self.entrant.version,
            time_limit_s=self.time_limit_s,
            memory_limit_bytes=self.memory_limit_bytes,
            seed=self.seed,
            finding=finding,
            peak_bytes=measured.peak_bytes,
            wall_s=measured.wall_s,
            started=measured.started,
            lightloom=code_version(),
            machine=measured.machine,
        )


def instance_hash(instance: Instance) -> str:
    """Return the SHA-256 of what an instance asks, its name left out."""
    asked = {**instance.table(), "requests": instance.requests}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def size_of(instance: Instance) -> int:
    """Return how many requests, pairs, operations, ranks or nodes an instance has."""
    if instance.requests is not None:
        return len(instance.requests)
    if isinstance(instance.task, Demand):
        return len(instance.task.src)
    if isinstance(instance.task, Workload):
        return len(instance.task.op)
    if isinstance(instance.task, Collective):
        return instance.task.rank_count
    return instance.fabric.node_count
