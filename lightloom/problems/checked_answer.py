"""Checks the answer of a problem by the rules of `lightloom.validate` alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import NoAnswerError
from lightloom.core.schedule import SealedSchedule
from lightloom.instances.fabrics import load_fabric
from lightloom.problems.problem import WrongAnswerError
from lightloom.synth.publish import signed
from lightloom.validate import verify
from lightloom.validate.certificates import check_bound, measure

if TYPE_CHECKING:
    from lightloom.core.certificate import Number
    from lightloom.instances.instance import Instance
    from lightloom.problems.problem import Problem, ProblemAnswer


@dataclass(frozen=True)
class CheckedAnswer:
    """What the rules say of an answer.

    `bound`: what no answer can beat; ``None`` where nothing is known. `certified`,
    `kind`: whether a witness proves the bound, and by which kind of argument.
    `verified`: whether the answer keeps to the rules; ``None`` where it cannot be
    looked into. `fault`: what is wrong with it, '' for nothing. `detail`: what a person
    should know beyond that.
    """

    bound: Number | None
    certified: bool
    kind: str
    verified: bool | None = None
    fault: str = ""
    detail: tuple[str, ...] = ()


def check_answer(
    problem: Problem, instance: Instance, answer: ProblemAnswer, *, trusted: bool
) -> CheckedAnswer:
    """Return what an answer is worth, whoever gave it.

    The answer itself is measured by `Problem.measure`, its schedule is verified and
    measured, and witnesses are checked; the values must be those that are claimed.

    `answer`: with its exact value and bound. `trusted`: whether the bound was proven
    here when the answer was made. That of a solver or of a user's function is a claim,
    unless a witness that comes with it proves it.
    """
    certified = trusted and answer.bound is not None
    kind = answer.bound_kind if trusted else ""
    claimed = CheckedAnswer(answer.bound, certified, kind, detail=answer.detail)
    try:
        return _checked(claimed, problem, instance, answer)
    except WrongAnswerError as wrong:
        return replace(claimed, verified=False, fault=str(wrong))


def _checked(
    checked: CheckedAnswer, problem: Problem, instance: Instance, answer: ProblemAnswer
) -> CheckedAnswer:
    """Return an answer without fault, or raise `WrongAnswerError`."""
    proven = None
    if problem.measure is not None and answer.found is not None:
        _check_value(answer.value, problem.measure(instance, answer.found), "answer")
        checked = replace(checked, verified=True)
    try:
        schedule = None if answer.schedule is None else answer.schedule()
    except NoAnswerError as none:
        schedule = None
        checked = replace(checked, detail=(*checked.detail, f"no schedule: {none}"))
    if schedule is not None:
        if not isinstance(schedule, SealedSchedule):
            schedule = signed(schedule, instance, answer.certificates or ())
        proven = _proven_by_schedule(problem, schedule, answer.value)
        checked = replace(checked, verified=True)
    elif problem.question is not None and answer.certificates:
        certificate = answer.certificates[0]
        for violation in check_bound(
            problem.question(instance), certificate, problem.name
        ):
            raise WrongAnswerError(violation.message)
        proven = certificate.bound, certificate.kind
    if proven is None:
        return checked
    bound, kind = proven
    if answer.bound in (None, bound):
        return replace(checked, bound=bound, certified=True, kind=kind)
    if answer.certificates:
        message = f"claims the bound {answer.bound}, proves {bound}"
        raise WrongAnswerError(message)
    return checked


def _proven_by_schedule(
    problem: Problem, schedule: SealedSchedule, value: Number
) -> tuple[Number, str] | None:
    """Return the bound that a schedule proves; ``None`` where it carries none."""
    verdict, objective = verify(schedule), problem.schedule_objective
    if not verdict.valid:
        first, count = verdict.violations[0], len(verdict.violations)
        message = f"{count} violations, first {first.rule}: {first.message}"
        raise WrongAnswerError(message)
    if objective is None:
        return None
    fabric, ends_ps = load_fabric(schedule.fabric), schedule.footer.completion_time_ps
    _, measured = measure(objective, fabric, schedule, ends_ps)
    _check_value(value, measured, "schedule")
    proven = verdict.certificate_of(objective)
    return None if proven.bound is None else (proven.bound, proven.kind or "")


def _check_value(claimed: Number, value: Number | None, noun: str) -> None:
    if claimed != value:
        message = f"claims {claimed}, but the {noun} has {value}"
        raise WrongAnswerError(message)
