"""The JSON objects and phrases that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.certificate import CertificateStatus
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from lightloom.validate import CertificateReport

_LEAST_GAP = 0.01
"""Per cent below which a gap is not written out."""


def certificate_record(report: CertificateReport) -> dict[str, object]:
    """Return what is proven of a schedule as its documented JSON object."""
    return {
        "status": str(report.status),
        "kind": report.kind,
        "bound": report.bound,
        "value": report.value,
    }


def certificate_text(report: CertificateReport) -> str:
    """Return what is proven of a schedule in a few words."""
    text = f"certificate: {report.status}"
    if report.bound is None:
        return text
    if report.status is CertificateStatus.REFUSED:
        return f"{text} ({report.kind} bound, claimed {format_ps(report.bound)})"
    if report.value and report.value > report.bound:
        gap = 100 * (report.value - report.bound) / report.value
        text += f" {gap:.2f} %" if gap >= _LEAST_GAP else f" below {_LEAST_GAP} %"
    bound = f"{report.kind} bound {format_ps(report.bound)}"
    return f"{text} ({bound}, witness checked)"
