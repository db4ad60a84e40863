"""For those who write synthesisers: strategies of tasks, and the conformance kit."""

from __future__ import annotations

from lightloom.testing.conformance.check import ConformanceReport, check_synthesiser

__all__ = ["ConformanceReport", "check_synthesiser"]
