"""Certificates: what a bound claims, and the arithmetic that proves it."""

from __future__ import annotations

from lightloom.validate.certificates.check import (
    OBJECTIVES,
    CertificateReport,
    check,
    check_bound,
    measure,
    report,
)
from lightloom.validate.certificates.witness import (
    InapplicableError,
    NotProvenError,
    Objective,
    Question,
    WitnessError,
)

__all__ = [
    "OBJECTIVES",
    "CertificateReport",
    "InapplicableError",
    "NotProvenError",
    "Objective",
    "Question",
    "WitnessError",
    "check",
    "check_bound",
    "measure",
    "report",
]
