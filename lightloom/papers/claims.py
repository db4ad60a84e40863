"""Claims of papers: a value of theirs beside ours, and how it fares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NEAR = 0.02
"""Relative difference up to which values match; the papers round as coarsely."""


class ClaimVerdict(StrEnum):
    """How a claim of the paper fares."""

    MATCHES = "matches"
    DIFFERS = "differs"
    NOT_REPRODUCIBLE = "not reproducible"


@dataclass(frozen=True)
class Comparison:
    """A claim of the paper beside what was computed.

    Attributes
    ----------
    claim
        What is claimed, and where.
    paper, ours
        The two values, in words.
    verdict
        How they compare.
    why
        Why they differ, or what input is missing; may be empty for a match.
    """

    claim: str
    paper: str
    ours: str
    verdict: ClaimVerdict
    why: str = ""

    def row(self) -> tuple[str, str, str, str, str]:
        """Return it as a row of a table."""
        return self.claim, self.paper, self.ours, str(self.verdict), self.why


def near(
    claim: str,
    paper: float,
    ours: float,
    unit: str,
    *,
    why: str = "",
    band: float = NEAR,
) -> Comparison:
    """Return a comparison that matches if the values differ by little.

    Parameters
    ----------
    claim
        What is claimed, and where.
    paper, ours
        The two values, in `unit`.
    unit
        Unit of both, as text.
    why
        Why they differ, said where they do; by default by how many per cent.
    band
        Largest difference that matches, as a part of the paper's value.
    """
    off = (ours - paper) / paper
    matches = abs(off) <= band
    return Comparison(
        claim,
        f"{_text(paper, 6)} {unit}",
        f"{_text(ours, 4)} {unit}",
        ClaimVerdict.MATCHES if matches else ClaimVerdict.DIFFERS,
        why if not matches and why else f"{100 * off:+.1f} %",
    )


def holds(claim: str, paper: str, ours: str, *, holds: bool, why: str) -> Comparison:
    """Return a comparison of a claim in words.

    Parameters
    ----------
    claim
        What is claimed, and where.
    paper, ours
        What the paper has, and what was found, in words.
    holds
        Whether what was found agrees.
    why
        Why it does not, said only then.
    """
    verdict = ClaimVerdict.MATCHES if holds else ClaimVerdict.DIFFERS
    return Comparison(claim, paper, ours, verdict, "" if holds else why)


def not_reproducible(claim: str, paper: str, ours: str, why: str) -> Comparison:
    """Return a claim that cannot be judged.

    Parameters
    ----------
    claim, paper, ours
        As in `holds`.
    why
        Which input is missing.
    """
    return Comparison(claim, paper, ours, ClaimVerdict.NOT_REPRODUCIBLE, why)


def percent_less(time: float, reference: float) -> float:
    """Return by how many per cent a time is below a reference.

    Parameters
    ----------
    time, reference
        Two times in one unit.
    """
    return 100 * (reference - time) / reference


def _text(value: float, digits: int) -> str:
    """Return a value for people: whole, not in powers of ten, up to ten millions."""
    if 10**4 <= abs(value) < 10**7:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
