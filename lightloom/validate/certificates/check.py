"""The check of certificates: what the witness proves, and whose the value is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.certificate import COMPLETION_TIME, CertificateStatus, gap
from lightloom.core.errors import InputError, nearest
from lightloom.core.violation import Violation
from lightloom.validate.certificates.completion_time import CompletionTimeQuestion
from lightloom.validate.certificates.witness import (
    InapplicableError,
    NotProvenError,
    Objective,
    Question,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Certificate, Number
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class CertificateReport:
    """What a certificate is worth.

    `status`: how good the schedule is known to be. `kind`, `bound`, `value`: as the
    file claims them; ``None`` where there is no certificate.
    """

    objective: str
    status: CertificateStatus
    kind: str | None = None
    bound: Number | None = None
    value: Number | None = None

    @property
    def gap(self) -> float | None:
        """See `lightloom.core.certificate.gap`."""
        return gap(self.value, self.bound)


OBJECTIVES: Catalogue[Objective] = Catalogue(
    "lightloom.validate.certificates", attribute="OBJECTIVE", noun="objective"
)
"""Every objective, by name."""


def report(certificate: Certificate, *, refused: bool) -> CertificateReport:
    """Return what a certificate is worth."""
    status = CertificateStatus.GAP
    if refused:
        status = CertificateStatus.REFUSED
    elif certificate.bound == certificate.value:
        status = CertificateStatus.OPTIMAL
    return CertificateReport(
        certificate.objective,
        status,
        certificate.kind,
        certificate.bound,
        certificate.value,
    )


def measure(
    objective: str,
    fabric: AnyFabric,
    schedule: Schedule,
    completion_time_ps: int | None,
) -> tuple[Question, Number | None]:
    """Return the question that a schedule answers, and the value of its answer.

    `completion_time_ps`: what replay has said already; ``None`` where it cannot say.

    Raises `InapplicableError` if the objective does not measure the schedule.
    """
    if objective == COMPLETION_TIME:
        return CompletionTimeQuestion(fabric, schedule.task), completion_time_ps
    return OBJECTIVES[objective].measure(fabric, schedule)


def check(
    fabric: AnyFabric,
    schedule: Schedule,
    certificates: tuple[Certificate, ...],
    *,
    task_sound: bool,
    sound: bool,
    valid: bool,
    completion_time_ps: int | None,
) -> Iterator[Violation]:
    """Yield what is wrong with the certificates of a schedule.

    Rules ``certificate-*`` for that of the completion time, ``objective-*`` for
    others. Values are recomputed from the schedule; a bound that is weaker than what
    the witness proves is true, and so allowed.

    `sound`: whether all segments and steps are well-formed as well; if not, only the
    bound on the completion time is checked, which depends on the task alone. `valid`:
    whether no other rule is broken: a valid schedule that beats a bound shows that the
    proof, or replay, is wrong. `completion_time_ps`: replay's, or ``None`` where the
    schedule cannot be replayed.
    """
    seen: set[str] = set()
    for rule, where, certificate in _placed(certificates):
        name = certificate.objective
        wrong = _name_fault(name, seen)
        seen.add(name)
        if not wrong and (sound or (task_sound and name == COMPLETION_TIME)):
            try:
                question, value = measure(name, fabric, schedule, completion_time_ps)
            except InapplicableError as problem:
                wrong = str(problem)
            else:
                faults = list(check_bound(question, certificate, where, rule))
                faults += _value_faults(certificate, value, where, rule)
                if valid and not faults and value is not None:
                    faults += _beaten(certificate, value, where, rule)
                yield from faults
        if wrong:
            yield Violation("objective-name", None, f"{where}.objective", wrong)


def _placed(
    certificates: tuple[Certificate, ...],
) -> Iterator[tuple[str, str, Certificate]]:
    """Yield each certificate with the prefix of its rules and its place in a file."""
    others = 0
    for certificate in certificates:
        if certificate.objective == COMPLETION_TIME:
            yield "certificate", "footer.certificate", certificate
        else:
            yield "objective", f"footer.objectives[{others}]", certificate
            others += 1


def _name_fault(name: str, seen: set[str]) -> str:
    """Return what is wrong with the name of an objective, nothing if it is right."""
    objectives = OBJECTIVES
    if name not in objectives:
        hint = nearest(name, objectives)
        message = f"unknown objective {name!r}, known: {', '.join(objectives)}"
        return f"{message}; {hint}" if hint else message
    return f"{name} has a certificate already" if name in seen else ""


def check_bound(
    question: Question, certificate: Certificate, where: str, rule: str = "objective"
) -> Iterator[Violation]:
    """Yield why a certificate's witness does not prove its bound, if it does not.

    `rule`: prefix of the rules: ``certificate`` or ``objective``.
    """
    kind = certificate.kind
    if kind not in question.kinds:
        hint = nearest(kind, question.kinds)
        message = f"unknown kind {kind!r}, known: {', '.join(question.kinds)}"
        message = f"{message}; {hint}" if hint else message
        yield Violation(f"{rule}-kind", None, f"{where}.kind", message)
        return
    try:
        question.prove(kind, certificate.witness, certificate.bound)
    except NotProvenError as problem:
        message, place = str(problem), f"{where}.bound"
        yield Violation(f"{rule}-bound", None, place, message, problem.excess)
    except InputError as problem:
        message, place = str(problem), f"{where}.witness"
        yield Violation(f"{rule}-witness", None, place, message)


def _value_faults(
    certificate: Certificate, value: Number | None, where: str, rule: str
) -> Iterator[Violation]:
    """Yield a claimed value that is not the schedule's, as far as that is known."""
    if value is not None and certificate.value != value:
        claimed = "missing" if certificate.value is None else certificate.value
        message = f"value {claimed}, the schedule has {value}"
        yield Violation(f"{rule}-value", None, f"{where}.value", message)


def _beaten(
    certificate: Certificate, value: Number, where: str, rule: str
) -> Iterator[Violation]:
    """Yield a bound that the schedule beats."""
    if OBJECTIVES[certificate.objective].beats(value, certificate.bound):
        message = f"claims {certificate.bound}, but this schedule has {value}"
        off = abs(certificate.bound - value)
        excess = off if isinstance(off, int) else None
        yield Violation(f"{rule}-bound", None, f"{where}.bound", message, excess)
