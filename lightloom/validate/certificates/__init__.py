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
from lightloom.validate.certificates.objective import (
    InapplicableError,
    Objective,
    Question,
)
from lightloom.validate.certificates.witness import NotProvenError, WitnessError

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
