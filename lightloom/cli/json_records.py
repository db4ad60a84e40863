"""The JSON objects and phrases that several commands share."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom.core.certificate import CertificateStatus, stored
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from lightloom.core.certificate import Number
    from lightloom.validate import CertificateReport, ObjectiveReport, Verdict

_LEAST_GAP = 0.01
"""Per cent below which a gap is not written out."""


def certificate_record(report: CertificateReport) -> dict[str, object]:
    """Return what is proven of a completion time as its documented JSON object."""
    return {
        "status": str(report.status),
        "kind": report.kind,
        "bound": report.bound,
        "value": report.value,
    }


def objective_record(report: ObjectiveReport) -> dict[str, object]:
    """Return what is proven of an objective as its documented JSON object."""
    return {
        "objective": report.objective,
        "status": str(report.status),
        "kind": report.kind,
        "bound": None if report.bound is None else stored(report.bound),
        "value": None if report.value is None else stored(report.value),
    }


def certificate_text(report: CertificateReport) -> str:
    """Return what is proven of a completion time in a few words."""
    text = f"completion time: {report.status}"
    if report.bound is None or report.kind is None:
        return text
    return _proven(text, report.status, report.kind, report.bound, report.value)


def objective_text(report: ObjectiveReport) -> str:
    """Return what is proven of an objective in a few words."""
    text = f"{report.objective.replace('-', ' ')}: {report.status}"
    if report.bound is None:
        return text
    kind = report.kind.replace("-", " ")
    return _proven(text, report.status, kind, report.bound, report.value, plain=True)


def certificates_text(verdict: Verdict) -> str:
    """Return all that is proven of a schedule in a line."""
    told = [certificate_text(verdict.certificate)]
    told += [objective_text(report) for report in verdict.objectives]
    return "; ".join(told)


def _proven(
    text: str,
    status: CertificateStatus,
    kind: str,
    bound: Number,
    value: Number | None,
    *,
    plain: bool = False,
) -> str:
    """Return a status with its gap and its bound; a time unless it is `plain`."""
    shown = str(bound) if plain else format_ps(int(bound))
    if status is CertificateStatus.REFUSED:
        return f"{text} ({kind} bound, claimed {shown})"
    if value and value != bound:
        gap = 100 * float(abs(Fraction(value) - bound) / Fraction(value))
        text += f" {gap:.2f} %" if gap >= _LEAST_GAP else f" below {_LEAST_GAP} %"
    return f"{text} ({kind} bound {shown}, witness checked)"
