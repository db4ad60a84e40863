"""Feasibility and proofs of bounds, in exact arithmetic, apart from the synthesiser."""

from __future__ import annotations

from lightloom.validate.certificates import CertificateReport
from lightloom.validate.rules import RULES, Rule
from lightloom.validate.seal import seal
from lightloom.validate.verdict import Verdict, verify

__all__ = [
    "RULES",
    "CertificateReport",
    "Rule",
    "Verdict",
    "seal",
    "verify",
]
