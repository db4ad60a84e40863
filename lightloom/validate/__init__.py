"""Feasibility and lower bounds, in exact arithmetic, owing the synthesiser nothing."""

from __future__ import annotations

from lightloom.validate.certificates.objectives import ObjectiveReport
from lightloom.validate.rules import RULES, Rule
from lightloom.validate.seal import seal
from lightloom.validate.verdict import CertificateReport, Verdict, verify

__all__ = [
    "RULES",
    "CertificateReport",
    "ObjectiveReport",
    "Rule",
    "Verdict",
    "seal",
    "verify",
]
