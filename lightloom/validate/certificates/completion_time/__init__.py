"""The completion time, and kinds of lower bound on it.

They are the files of this folder, and what other packages offer as entry points.

Every bound is a theorem of the schedule semantics, whatever the algorithm; its proof
is in the docstring of its module. How witnesses are found is no matter of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.certificate import COMPLETION_TIME
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.former_kinds import FORMER_KINDS
from lightloom.validate.certificates.witness import Objective, WitnessError, require

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, Witness
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

__all__ = [
    "BOUND_KINDS",
    "OBJECTIVE",
    "BoundKind",
    "CompletionTimeQuestion",
    "measure",
    "proven_ps",
]


BOUND_KINDS: Catalogue[BoundKind] = Catalogue(
    __name__, attribute="BOUND", noun="kind of bound", group="lightloom.bounds"
)
"""Every kind of bound on the completion time, by name."""


@dataclass(frozen=True)
class CompletionTimeQuestion:
    """Least completion time of a task, its chunk count open, in picoseconds.

    `task`: sound for it; its chunks need not be chosen and do not matter.
    """

    fabric: AnyFabric
    task: Task

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of `BOUND_KINDS`, and those that earlier versions wrote."""
        return tuple(sorted({*BOUND_KINDS, *FORMER_KINDS}))

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `lightloom.validate.certificates.witness.Question.prove`."""
        require(bound, proven_ps(kind, self.fabric, self.task, witness))


def proven_ps(kind: str, fabric: AnyFabric, task: Task, witness: Witness) -> int:
    """Return what a witness of a kind, today's or a former one, proves.

    Raises `WitnessError`: it has not the form of its kind, or fits nothing here.
    """
    if kind in FORMER_KINDS:
        former = FORMER_KINDS[kind]
        kind, witness = former.now, former.witness(fabric, task, witness)
    bound_kind = BOUND_KINDS[kind]
    if not bound_kind.concerns(task):
        message = f"the kind {kind} takes a byte to take one circuit: the demand"
        message += " allows relays"
        raise WitnessError(message)
    return bound_kind.prove(fabric, task, witness)


def measure(
    fabric: AnyFabric, schedule: Schedule
) -> tuple[CompletionTimeQuestion, int]:
    """Return the question, and what replay says of a schedule."""
    from lightloom.replay import completion_time_ps

    question = CompletionTimeQuestion(fabric, schedule.task)
    return question, completion_time_ps(schedule)


OBJECTIVE = Objective(COMPLETION_TIME, largest=False, measure=measure)
