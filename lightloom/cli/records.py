"""The JSON objects and phrases that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from lightloom.validate import CertificateReport


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
    if report.value and report.value > report.bound:
        text += f" {100 * (report.value - report.bound) / report.value:.2f} %"
    return f"{text}, bound {format_ps(report.bound)} by {report.kind}"
