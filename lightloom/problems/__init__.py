"""Optimisation problems: one file each, all that is known of it in one record.

A module offers its problem as ``PROBLEM``, a `Problem`: the model for any solver, our
own algorithm, bounds with witnesses, and the check of answers by `lightloom.validate`.
"""

from __future__ import annotations

from lightloom.problems.problem import (
    PROBLEMS,
    Formulation,
    Problem,
    ProblemAnswer,
    problem_for,
)

__all__ = ["PROBLEMS", "Formulation", "Problem", "ProblemAnswer", "problem_for"]
