"""One question to one participant: what the process of a run answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.bench.participants import Entrant
    from lightloom.instances.instance import Instance


@dataclass(frozen=True, kw_only=True)
class BenchQuestion:
    """A problem of an instance, put to a participant.

    Attributes
    ----------
    problem
        A problem of `lightloom.problems`, ``completion-time`` or ``measure``.
    entrant
        Who is asked.
    instance
        What is asked about.
    seed
        Of everything random.
    time_limit_s
        Seconds that the answer may take.
    """

    problem: str
    entrant: Entrant
    instance: Instance
    seed: int
    time_limit_s: float
