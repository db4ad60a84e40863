"""Certified gaps: every answer against the best bound that anybody proved."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from lightloom.bench.results import Ending, Proof
from lightloom.core.certificate import gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightloom.bench.results import Row

Question: TypeAlias = tuple[str, str]
"""A problem and the hash of an instance."""

_MAXIMISE = "maximise"
_CLAIM_SLACK = Fraction(1, 10**6)
"""Solvers' claims hold up to their tolerances."""


def question_of(row: Row) -> Question:
    """Return what a row is about, whoever answered it."""
    return row.problem, row.instance_sha256


def certified_bounds(rows: Iterable[Row]) -> dict[Question, Fraction]:
    """Return the best bound of each question whose witness was checked."""
    best: dict[Question, Fraction] = {}
    for row in rows:
        bound = row.finding.bound_exact
        if not row.solved or row.finding.proof is not Proof.CHECKED or bound is None:
            continue
        question, value = question_of(row), Fraction(bound)
        better = min if row.sense == _MAXIMISE else max
        best[question] = better(best.get(question, value), value)
    return best


def certified_gap(row: Row, bounds: dict[Question, Fraction]) -> float | None:
    """Return the gap of an answer to the best certified bound.

    Parameters
    ----------
    row
        Any; ``None`` is returned for a row without an answer.
    bounds
        As of `certified_bounds`.
    """
    if not row.solved or row.finding.answer is None:
        return None
    return gap(Fraction(row.finding.answer), bounds.get(question_of(row)))


def contradictions(rows: Sequence[Row]) -> list[str]:
    """Return where an answer beats a bound, a sentence each: one of them is wrong.

    Certified bounds are compared exactly, solvers' claims up to 1e-6.
    """
    found = []
    best: dict[Question, Row] = {}
    for row in rows:
        if row.solved and row.finding.answer is not None:
            held = best.setdefault(question_of(row), row)
            if _beats(row, Fraction(held.finding.answer or 0)):
                best[question_of(row)] = row
    for row in rows:
        winner = best.get(question_of(row))
        if winner is None:
            continue
        where = f"{row.problem} {row.instance}: {winner.label}"
        if row.finding.ending is Ending.INFEASIBLE:
            found.append(f"{where} has an answer, {row.label} says there is none")
        bound = row.finding.bound_exact
        if not row.solved or bound is None:
            continue
        slack = Fraction(0)
        if row.finding.proof is not Proof.CHECKED:
            slack = _CLAIM_SLACK * abs(Fraction(bound))
        if _beats(winner, Fraction(bound), slack):
            answer = winner.finding.answer
            found.append(f"{where} has {answer}, {row.label} bounds it by {bound}")
    return sorted(set(found))


def _beats(row: Row, bound: Fraction, slack: Fraction = Fraction(0)) -> bool:
    """Return whether the answer of a row is better than a bound allows."""
    value = Fraction(row.finding.answer or 0)
    if row.sense == _MAXIMISE:
        return value > bound + slack
    return value < bound - slack
