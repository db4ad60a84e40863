"""Answers: what they are worth once they were checked by the rules, not by us."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from lightloom.bench.participants import COMPLETION_TIME
from lightloom.bench.row import Proof
from lightloom.core.certificate import CertificateStatus
from lightloom.core.errors import InputError, NoAnswerError
from lightloom.core.outcome import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.bench.job import Job
    from lightloom.core.certificate import Certificate, Number
    from lightloom.core.outcome import Outcome
    from lightloom.core.placement import Placement
    from lightloom.core.schedule import Schedule, SealedSchedule
    from lightloom.instances.instance import Instance
    from lightloom.models import Problem
    from lightloom.models.routing import RoutingAnswer
    from lightloom.problems import OwnAnswer
    from lightloom.validate import CertificateReport

OBJECTIVES = {
    "ocs": "circuits-per-byte",
    "ring": "circuits-per-byte",
    "rounds": "rounds",
    "routing": "congestion",
}
"""Objectives that measure the answers of problems."""
_PLACEMENT = "placement"


@dataclass(frozen=True)
class Given:
    """An answer that was checked.

    Attributes
    ----------
    value, bound
        Exact; the bound ``None`` where there is none.
    proof, witness
        What the bound rests on, and the kind of witness.
    verified
        Whether rules of their own were applied to the answer; ``None`` where it
        cannot be looked into.
    fault
        What is wrong with it, '' for nothing.
    detail
        What a person should know beyond that.
    """

    value: Number
    bound: Number | None
    proof: Proof
    witness: str = ""
    verified: bool | None = None
    fault: str = ""
    detail: tuple[str, ...] = ()

    def with_bound(self, bound: Number | None, proof: Proof, witness: str) -> Given:
        """Return the same answer with another bound."""
        return replace(self, bound=bound, proof=proof, witness=witness)


def check_own(job: Job, answer: OwnAnswer, *, certain: bool) -> Given:
    """Return what an answer of ours, or of a user's function, is worth.

    Parameters
    ----------
    job
        The question.
    answer
        With its exact value and bound.
    certain
        Whether the bound is that of an algorithm here, whose witness was checked when
        it was made; a user's is a claim, unless the schedule carries its witness.
    """
    proof = Proof.CHECKED if certain else Proof.CLAIMED
    given = Given(
        answer.value,
        answer.bound,
        Proof.NONE if answer.bound is None else proof,
        detail=answer.detail,
    )
    if job.problem == _PLACEMENT and certain:
        return _placed_again(job, given)
    if answer.schedule is None:
        return given
    try:
        unsigned = answer.schedule()
    except NoAnswerError as problem:
        return replace(given, detail=(*given.detail, f"no schedule: {problem}"))
    if job.problem == COMPLETION_TIME:
        return _judged(_sign(job.instance, unsigned, ()), given, None)
    schedule = _sign(job.instance, unsigned, answer.certificates)
    return _judged(schedule, given, OBJECTIVES.get(job.problem))


def check_schedule(schedule: SealedSchedule, claim: int | None) -> Given:
    """Return what a signed schedule is worth.

    Parameters
    ----------
    schedule
        With its footer.
    claim
        Its number of rounds; ``None``: it is about the completion time.
    """
    if claim is not None:
        given = Given(claim, None, Proof.NONE)
        return _judged(schedule, given, OBJECTIVES["rounds"])
    value = schedule.footer.completion_time_ps
    return _judged(schedule, Given(value, None, Proof.NONE), None)


def check_solver(
    job: Job, problem: Problem, answer: object, outcome: Outcome[Any]
) -> Given:
    """Return what the decoded answer of a solver is worth.

    The objective is recomputed from the answer; the bound stays what the solver
    claims, made exact where it meets the answer.
    """
    value = problem.objective(answer)
    bound = None if outcome.bound is None else Fraction(outcome.bound)
    if outcome.reason is Reason.PROVEN_OPTIMAL:
        # A solver's objective may count levels where the answer is a fraction.
        bound = value
    proof = Proof.NONE if bound is None else Proof.CLAIMED
    given = Given(value, bound, proof, detail=outcome.detail)
    if problem.schedule is not None:
        schedule = _sign(job.instance, problem.schedule(job.instance, answer), ())
        return _judged(schedule, given, OBJECTIVES.get(problem.name))
    if problem.name == _PLACEMENT:
        return _checked_placement(cast("Placement", answer), given)
    if problem.name == "routing":
        return _checked_routes(job.instance, cast("RoutingAnswer", answer), given)
    return given


def _sign(
    instance: Instance,
    schedule: Schedule,
    certificates: Iterable[Certificate],
) -> SealedSchedule:
    from lightloom.synth.certify import signed

    return signed(schedule, instance, certificates)


def _judged(schedule: Schedule, given: Given, objective: str | None) -> Given:
    """Return an answer after its schedule was verified and measured.

    `objective` is ``None`` where the answer is the completion time itself.
    """
    from lightloom.instances.fabrics import load_fabric
    from lightloom.validate import verify
    from lightloom.validate.certificates import OBJECTIVES as MEASURES

    verdict = verify(schedule)
    if not verdict.valid:
        first = verdict.violations[0]
        count = len(verdict.violations)
        fault = f"{count} violations, first {first.rule}: {first.message}"
        return replace(given, verified=False, fault=fault)
    if objective is None:
        report = verdict.certificate
        if report.status is CertificateStatus.NO_BOUND:
            return replace(given, verified=True)
        checked = replace(given, verified=True)
        return checked.with_bound(report.bound, Proof.CHECKED, report.kind or "")
    _, value = MEASURES[objective].measure(load_fabric(schedule.fabric), schedule)
    if value != given.value:
        fault = f"claims {given.value}, but the schedule has {value}"
        return replace(given, verified=False, fault=fault)
    return _bounded(given, verdict.certificate_of(objective))


def _bounded(given: Given, proven: CertificateReport) -> Given:
    """Return a verified answer with the bound that its schedule proves, if any."""
    if proven.status is CertificateStatus.NO_BOUND:
        return replace(given, verified=True)
    if given.bound not in (None, proven.bound):
        fault = f"claims the bound {given.bound}, proves {proven.bound}"
        return replace(given, verified=False, fault=fault)
    checked = replace(given, verified=True)
    return checked.with_bound(proven.bound, Proof.CHECKED, proven.kind or "")


def _placed_again(job: Job, given: Given) -> Given:
    """Return our placement after it was made again, looked into and its bound proved.

    The algorithm gives the same placement for the same seed.
    """
    from lightloom.core.task import Workload
    from lightloom.training.placement.placement_search import place_operations
    from lightloom.validate.certificates.proofs.makespan import check_placement_witness

    assert isinstance(job.instance.task, Workload)
    plan = place_operations(job.instance.task, seed=job.seed)
    kind = type(plan.witness).__name__
    kind = {"CriticalPath": "critical-path", "CrowdedOps": "crowded-operations"}[kind]
    proven = check_placement_witness(job.instance.task, plan.witness)
    if proven != given.bound:
        fault = f"claims the bound {given.bound}, proves {proven}"
        return replace(given, verified=False, fault=fault)
    checked = _checked_placement(plan.placement, given)
    return checked.with_bound(given.bound, Proof.CHECKED, kind)


def _checked_placement(placement: Placement, given: Given) -> Given:
    from lightloom.validate.placement import check_placement

    for violation in check_placement(placement):
        fault = f"{violation.rule}: {violation.message}"
        return replace(given, verified=False, fault=fault)
    if placement.makespan_ps != given.value:
        fault = f"claims {given.value}, but the makespan is {placement.makespan_ps}"
        return replace(given, verified=False, fault=fault)
    return replace(given, verified=True)


def _checked_routes(instance: Instance, answer: RoutingAnswer, given: Given) -> Given:
    """Return routes after their ends and their congestion were recomputed."""
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.models.routing import routing_requests
    from lightloom.validate.certificates.proofs.congestion import congestion_of

    fabric = instance.fabric
    assert isinstance(fabric, Lightpath)
    values, first = answer.route.values, answer.route.offsets
    ends = zip(values[first[:-1]].tolist(), values[first[1:] - 1].tolist(), strict=True)
    if tuple(ends) != routing_requests(instance, fabric):
        return replace(given, verified=False, fault="routes end where none was asked")
    try:
        congestion, edge = congestion_of(fabric, answer.route)
    except InputError as problem:
        return replace(given, verified=False, fault=str(problem))
    if congestion != given.value:
        fault = f"claims {given.value}, but edge {edge} carries {congestion}"
        return replace(given, verified=False, fault=fault)
    return replace(given, verified=True)
