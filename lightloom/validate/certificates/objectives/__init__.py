"""Certificates of objectives other than the completion time, one objective a file."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import walk
from lightloom.core.certificate import CertificateStatus, exact
from lightloom.core.errors import nearest
from lightloom.core.violation import Violation
from lightloom.validate.certificates.completion_time.kind import WitnessError
from lightloom.validate.certificates.objectives.objective import (
    InapplicableError,
    Objective,
)
from lightloom.validate.certificates.witness import NotProvenError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Number, ObjectiveCertificate
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.objectives.objective import Question

__all__ = ["ObjectiveReport", "catalogue", "check", "check_bound", "report"]


@dataclass(frozen=True)
class ObjectiveReport:
    """What the certificate of an objective is worth.

    Attributes
    ----------
    objective, kind
        As the file names them.
    status
        How good the schedule is known to be.
    bound, value
        As the file claims them; ``None`` where it claims no number.
    """

    objective: str
    kind: str
    status: CertificateStatus
    bound: Number | None
    value: Number | None


@functools.cache
def catalogue() -> dict[str, Objective]:
    """Return every objective, by name."""
    return walk(__name__, "OBJECTIVE")


def report(certificate: ObjectiveCertificate, *, refused: bool) -> ObjectiveReport:
    """Return what a certificate is worth, given whether anything is wrong."""
    bound = exact(certificate.bound)
    value = None if certificate.value is None else exact(certificate.value)
    status = CertificateStatus.GAP
    if refused:
        status = CertificateStatus.REFUSED
    elif bound == value:
        status = CertificateStatus.OPTIMAL
    name, kind = certificate.objective, certificate.kind
    return ObjectiveReport(name, kind, status, bound, value)


def check(fabric: AnyFabric, schedule: Schedule, *, sound: bool) -> Iterator[Violation]:
    """Yield what is wrong with the certificates of a schedule's objectives.

    Rules ``objective-name``, ``objective-kind``, ``objective-witness``,
    ``objective-bound``, ``objective-value``. The value is recomputed from the
    schedule; a bound that is weaker than what the witness proves is true, and so
    allowed.

    Parameters
    ----------
    fabric
        Of the schedule.
    schedule
        With its footer.
    sound
        Whether its task and all its segments and steps are well-formed; only the
        names are checked if not.
    """
    assert schedule.footer is not None
    seen: set[str] = set()
    for place, certificate in enumerate(schedule.footer.objectives):
        where, name = f"footer.objectives[{place}]", certificate.objective
        wrong = _name_fault(name, seen)
        seen.add(name)
        if wrong:
            yield Violation("objective-name", None, f"{where}.objective", wrong)
        elif sound:
            yield from _check_one(fabric, schedule, certificate, where)


def _name_fault(name: str, seen: set[str]) -> str:
    """Return what is wrong with the name of an objective, nothing if it is right."""
    known = catalogue()
    if name not in known:
        hint = nearest(name, known)
        message = f"unknown objective {name!r}, known: {', '.join(known)}"
        return f"{message}; {hint}" if hint else message
    return f"{name} has a certificate already" if name in seen else ""


def _check_one(
    fabric: AnyFabric, schedule: Schedule, certificate: ObjectiveCertificate, where: str
) -> Iterator[Violation]:
    objective = catalogue()[certificate.objective]
    try:
        question, value = objective.measure(fabric, schedule)
    except InapplicableError as problem:
        yield Violation("objective-name", None, f"{where}.objective", str(problem))
        return
    wrong = list(check_bound(question, certificate, where))
    yield from wrong
    claimed = None if certificate.value is None else exact(certificate.value)
    if claimed != value:
        message = f"value {_text(claimed)}, the schedule has {value}"
        yield Violation("objective-value", None, f"{where}.value", message)
    bound = exact(certificate.bound)
    if not wrong and bound is not None and objective.beats(value, bound):
        message = f"claims {bound}, but this schedule has {value}"
        yield Violation("objective-bound", None, f"{where}.bound", message)


def check_bound(
    question: Question, certificate: ObjectiveCertificate, where: str
) -> Iterator[Violation]:
    """Yield why a certificate's witness does not prove its bound, if it does not.

    Parameters
    ----------
    question
        What the bound is about.
    certificate
        Of its objective; the value does not matter.
    where
        Place of the certificate, for messages.
    """
    kind, bound = certificate.kind, exact(certificate.bound)
    if kind not in question.kinds:
        hint = nearest(kind, question.kinds)
        message = f"unknown kind {kind!r}, known: {', '.join(question.kinds)}"
        message = f"{message}; {hint}" if hint else message
        yield Violation("objective-kind", None, f"{where}.kind", message)
        return
    if bound is None:
        message = f"{certificate.bound} is no fraction in lowest terms"
        yield Violation("objective-bound", None, f"{where}.bound", message)
        return
    try:
        question.prove(kind, certificate.witness, bound)
    except NotProvenError as problem:
        message = str(problem)
        yield Violation("objective-bound", None, f"{where}.bound", message)
    except WitnessError as problem:
        message = str(problem)
        yield Violation("objective-witness", None, f"{where}.witness", message)


def _text(value: Number | None) -> str:
    return "missing, or no fraction in lowest terms" if value is None else str(value)
