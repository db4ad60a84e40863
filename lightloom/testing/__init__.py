"""For those who write synthesisers: strategies of tasks, and the conformance kit."""

from __future__ import annotations

from lightloom.testing.conformance.check import check_synthesiser
from lightloom.testing.conformance.report import ConformanceReport

__all__ = ["ConformanceReport", "check_synthesiser"]
