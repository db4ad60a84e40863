"""Certificates: what the witness proves, and whether the value is the schedule's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import nearest
from lightloom.core.violation import Violation
from lightloom.validate.certificates.completion_time import WitnessError, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Certificate
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_WHERE = "footer.certificate"


def check(
    fabric: AnyFabric,
    task: Task,
    certificate: Certificate,
    completion_time_ps: int | None,
) -> Iterator[Violation]:
    """Yield what is wrong with a certificate.

    Rules ``certificate-kind``, ``certificate-witness``, ``certificate-bound``,
    ``certificate-value``. A bound below what the witness proves is true, and so
    allowed.

    Parameters
    ----------
    fabric, task
        Both sound.
    certificate
        What the footer carries.
    completion_time_ps
        Replay's, or ``None`` where the schedule cannot be replayed.
    """
    kinds = catalogue()
    if certificate.kind not in kinds:
        hint = nearest(certificate.kind, kinds)
        message = f"unknown kind {certificate.kind!r}, known: {', '.join(kinds)}"
        message = f"{message}; {hint}" if hint else message
        yield Violation("certificate-kind", None, f"{_WHERE}.kind", message)
    else:
        try:
            proven = kinds[certificate.kind].check(fabric, task, certificate)
        except WitnessError as problem:
            where = f"{_WHERE}.witness"
            yield Violation("certificate-witness", None, where, str(problem))
        else:
            excess = certificate.bound - proven
            if excess > 0:
                message = f"claims {certificate.bound} ps, the witness proves {proven}"
                where = f"{_WHERE}.bound"
                yield Violation("certificate-bound", None, where, message, excess)
    if completion_time_ps is not None and certificate.value != completion_time_ps:
        message = f"value {certificate.value}, replay says {completion_time_ps} ps"
        yield Violation("certificate-value", None, f"{_WHERE}.value", message)


def check_against(
    certificate: Certificate, completion_time_ps: int
) -> Iterator[Violation]:
    """Yield a bound that a valid schedule beats: the proof, or replay, is wrong."""
    excess = certificate.bound - completion_time_ps
    if excess > 0:
        message = (
            f"claims {certificate.bound} ps, but this valid schedule takes"
            f" {completion_time_ps}"
        )
        where = f"{_WHERE}.bound"
        yield Violation("certificate-bound", None, where, message, excess)
