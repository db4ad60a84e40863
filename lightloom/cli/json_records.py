"""The JSON objects and phrases that several commands share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lightloom.core.certificate import (
    COMPLETION_TIME,
    CertificateStatus,
    stored,
)
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.core.certificate import Number
    from lightloom.core.violation import Violation
    from lightloom.validate import CertificateReport, Verdict

SHOWN = 20
"""Violations of a rule that people see; --json has all of them."""
_LEAST_PERCENT = 0.01
"""Below it a gap is not written out."""


def violation_lines(
    violations: Sequence[Violation],
    *,
    steps: bool,
    counts: Mapping[str, int] | None = None,
) -> list[str]:
    """Return violations for people, one a line, the first `SHOWN` of each rule.

    `counts`: how often each rule is broken, where not all violations were kept.
    """
    lines = []
    shown: Counter[str] = Counter()
    for violation in violations:
        shown[violation.rule] += 1
        if shown[violation.rule] > SHOWN:
            continue
        told = steps and violation.step is not None
        step = f" step {violation.step}:" if told else ""
        resource = f" {violation.resource}:" if violation.resource else ""
        lines.append(f"  [{violation.rule}]{step}{resource} {violation.message}")
    for rule, count in sorted((counts or shown).items()):
        if count > SHOWN:
            more = f"{count - SHOWN:,} more"
            lines.append(f"  [{rule}] and {more}; --json lists up to 1,000 of a rule")
    return lines


def certificate_record(report: CertificateReport) -> dict[str, object]:
    """Return what is proven of a completion time as its documented JSON object."""
    return {
        "status": str(report.status),
        "kind": report.kind,
        "bound": None if report.bound is None else stored(report.bound),
        "value": None if report.value is None else stored(report.value),
    }


def objective_records(verdict: Verdict) -> list[dict[str, object]]:
    """Return what is proven of other objectives as documented JSON objects."""
    return [
        {"objective": report.objective, **certificate_record(report)}
        for report in verdict.certificates
        if report.objective != COMPLETION_TIME
    ]


def certificate_text(report: CertificateReport) -> str:
    """Return what is proven of an objective in a few words: status, gap, bound."""
    text = f"{_words(report.objective)}: {report.status}"
    if report.bound is None or report.kind is None:
        return text
    shown = _shown(report.objective, report.bound)
    proven = f"({_words(report.kind)} bound"
    if report.status is CertificateStatus.REFUSED:
        return f"{text} {proven}, claimed {shown})"
    if report.gap:
        text += _gap_text(100 * report.gap)
    return f"{text} {proven} {shown}, witness checked)"


def certificates_text(verdict: Verdict) -> str:
    """Return all that is proven of a schedule in a line, the completion time first."""
    others = [
        report for report in verdict.certificates if report.objective != COMPLETION_TIME
    ]
    return "; ".join(map(certificate_text, [verdict.certificate, *others]))


def _words(name: str) -> str:
    return name.replace("-", " ")


def _shown(objective: str, bound: Number) -> str:
    """Return a bound, with its unit if it is a time."""
    if objective == COMPLETION_TIME and isinstance(bound, int):
        return format_ps(bound)
    return str(bound)


def _gap_text(percent: float) -> str:
    if percent < _LEAST_PERCENT:
        return f" below {_LEAST_PERCENT} %"
    return f" {percent:.2f} %"
