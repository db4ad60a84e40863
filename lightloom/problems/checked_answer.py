"""What an answer is worth by the rules of `lightloom.validate` alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import NoAnswerError
from lightloom.core.schedule import SealedSchedule
from lightloom.instances.fabrics import load_fabric
from lightloom.problems.problem import WrongAnswerError
from lightloom.synth.certify import signed
from lightloom.validate import verify
from lightloom.validate.certificates import check_bound, measure

if TYPE_CHECKING:
    from lightloom.core.certificate import Number
    from lightloom.instances.instance import Instance
    from lightloom.problems.problem import Problem, ProblemAnswer


@dataclass(frozen=True)
class CheckedAnswer:
    """What the rules say of an answer.

    Attributes
    ----------
    verified
        Whether it keeps to them; ``None`` where it cannot be looked into.
    fault
        The first thing that is wrong with it, '' for nothing.
    bound, kind
        What a witness that came with the answer proves, and by which kind of argument;
        ``None`` and '' where none did.
    detail
        What a person should know beyond that.
    """

    verified: bool | None = None
    fault: str = ""
    bound: Number | None = None
    kind: str = ""
    detail: tuple[str, ...] = ()

    def wrong(self, fault: str) -> CheckedAnswer:
        """Return the same with a fault.

        Parameters
        ----------
        fault
            What is wrong, in a clause.
        """
        return replace(self, verified=False, fault=fault)


def check_answer(
    problem: Problem, instance: Instance, answer: ProblemAnswer
) -> CheckedAnswer:
    """Return what an answer is worth, whoever gave it.

    The answer itself is measured by `Problem.measure`, its schedule is verified and
    measured, and witnesses are checked; the values must be the one that is claimed.

    Parameters
    ----------
    problem, instance
        What is answered.
    answer
        The answer.
    """
    checked = CheckedAnswer()
    if problem.measure is not None and answer.found is not None:
        try:
            value = problem.measure(instance, answer.found)
        except WrongAnswerError as wrong:
            return checked.wrong(str(wrong))
        if value != answer.value:
            return checked.wrong(f"claims {answer.value}, but it has {value}")
        checked = replace(checked, verified=True)
    if answer.schedule is not None:
        try:
            schedule = answer.schedule()
        except NoAnswerError as none:
            checked = replace(checked, detail=(f"no schedule: {none}",))
        else:
            if not isinstance(schedule, SealedSchedule):
                schedule = signed(schedule, instance, answer.certificates or ())
            return _check_schedule(schedule, problem.schedule_objective, answer.value)
    return _with_witness(checked, problem, instance, answer)


def _check_schedule(
    schedule: SealedSchedule, objective: str | None, value: Number
) -> CheckedAnswer:
    """Return what the schedule of an answer is worth, and its certificate proves."""
    verdict = verify(schedule)
    if not verdict.valid:
        first, count = verdict.violations[0], len(verdict.violations)
        fault = f"{count} violations, first {first.rule}: {first.message}"
        return CheckedAnswer().wrong(fault)
    checked = CheckedAnswer(verified=True)
    if objective is None:
        return checked
    fabric, ends_ps = load_fabric(schedule.fabric), schedule.footer.completion_time_ps
    _, measured = measure(objective, fabric, schedule, ends_ps)
    if measured != value:
        return checked.wrong(f"claims {value}, but the schedule has {measured}")
    proven = verdict.certificate_of(objective)
    return replace(checked, bound=proven.bound, kind=proven.kind or "")


def _with_witness(
    checked: CheckedAnswer, problem: Problem, instance: Instance, answer: ProblemAnswer
) -> CheckedAnswer:
    """Return an answer without schedule with what its first witness proves."""
    if problem.question is None or not answer.certificates:
        return checked
    certificate = answer.certificates[0]
    question = problem.question(instance)
    for violation in check_bound(question, certificate, problem.name):
        return checked.wrong(f"{violation.rule}: {violation.message}")
    return replace(checked, bound=certificate.bound, kind=certificate.kind)
