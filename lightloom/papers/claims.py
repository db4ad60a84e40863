"""Verdicts: a value of the paper beside ours."""

from __future__ import annotations

from lightloom.papers.reproduction import Comparison, Verdict

NEAR = 0.02
"""Relative difference up to which values match; the paper rounds as coarsely."""


def near(
    claim: str, paper: float, ours: float, unit: str, *, why: str = ""
) -> Comparison:
    """Return a comparison that matches if the values differ by 2 % at most."""
    off = (ours - paper) / paper
    matches = abs(off) <= NEAR
    return Comparison(
        claim,
        f"{_text(paper, 6)} {unit}",
        f"{_text(ours, 4)} {unit}",
        Verdict.MATCHES if matches else Verdict.DIFFERS,
        why if not matches and why else f"{100 * off:+.1f} %",
    )


def _text(value: float, digits: int) -> str:
    """Return a value for people: whole, not in powers of ten, up to ten millions."""
    if 10**4 <= abs(value) < 10**7:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def holds(claim: str, paper: str, ours: str, *, holds: bool, why: str) -> Comparison:
    """Return a comparison of a claim in words; `why` is said where it fails."""
    verdict = Verdict.MATCHES if holds else Verdict.DIFFERS
    return Comparison(claim, paper, ours, verdict, "" if holds else why)


def percent_less(time: float, reference: float) -> float:
    """Return by how many per cent a time is below a reference."""
    return 100 * (reference - time) / reference
