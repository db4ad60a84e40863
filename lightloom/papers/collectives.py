"""Collectives behind numbers: verified before they count, and what none can beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.errors import NoAnswerError
from lightloom.core.task import Collective
from lightloom.core.units import PS_PER_US, format_ps
from lightloom.instances.instance import Instance
from lightloom.replay import replay
from lightloom.synth.bounds import all_bounds
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time import proven_ps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class MeasuredCollective:
    """A collective that was synthesised, verified and replayed; replay has the time."""

    algorithm: str
    completion_time_ps: int
    steps: int
    reconfigurations: int
    schedule: Schedule

    @property
    def completion_time_us(self) -> float:
        """Completion time in microseconds."""
        return self.completion_time_ps / PS_PER_US

    @classmethod
    def of(cls, schedule: Schedule, label: str, *more: object) -> Self:
        """Return a verified schedule as replay has it; `label` has its parameters."""
        timeline = replay(schedule)
        return cls(
            f"{schedule.algorithm.name} {label}".strip(),
            timeline.completion_time_ps,
            len(timeline.steps),
            len(timeline.reconfigurations),
            schedule,
            *more,
        )


def verified_schedule(
    fabric: AnyFabric,
    op: str,
    buffer_bytes: int,
    algorithm: str,
    parameters: Mapping[str, object],
    *,
    router: str = "minimum-congestion",
) -> Schedule:
    """Return a verified schedule of a collective over all nodes."""
    nodes = tuple(range(fabric.node_count))
    name = f"{fabric.kind}-{len(nodes)}"
    instance = Instance(fabric, Collective(op, nodes, buffer_bytes), name)
    synthesis = synthesise(instance, algorithm, parameters, router=router).incumbent
    if synthesis is None:
        raise NoAnswerError("no schedule was found", where=name)
    verdict = verify(synthesis.schedule)
    if not verdict.valid:
        what = f"the schedule breaks {verdict.violations[0].rule}"
        raise NoAnswerError(what, where=name, found=algorithm)
    return synthesis.schedule


_MOST_NODES = 2**12
"""Nodes of an all-to-all whose bounds are all computed; of more, the ports of a node
alone."""


def best_bound(fabric: AnyFabric, op: str, buffer_bytes: int) -> Certificate:
    """Return the highest lower bound on a collective over all nodes.

    Of large all-to-alls, whose pairs are too many to count, only what a node receives
    counts: as much as in an all-gather, from as many.
    """
    nodes = tuple(range(fabric.node_count))
    if op == "all-to-all" and len(nodes) > _MOST_NODES:
        task = Collective("all-gather", nodes, buffer_bytes)
        witness = {"resources": [len(nodes)], "prices": [1]}
        bound_ps = proven_ps("prices", fabric, task, witness)
        return Certificate(COMPLETION_TIME, "prices", bound_ps, None, witness)
    kinds = all_bounds(fabric, Collective(op, nodes, buffer_bytes))
    return max(
        kinds.values(), key=lambda certificate: (certificate.bound, certificate.kind)
    )


def bound_text(certificate: Certificate) -> str:
    """Return a bound on the completion time with its kind."""
    return f"{format_ps(int(certificate.bound))} ({certificate.kind})"


def bound_us(certificate: Certificate) -> float:
    """Return a bound on the completion time in microseconds."""
    return float(certificate.bound) / PS_PER_US
