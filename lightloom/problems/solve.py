"""Solving a problem: by our own algorithm, or its model by any solver."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom import __version__
from lightloom.core.certificate import gap
from lightloom.core.errors import InputError, unknown_name
from lightloom.core.outcome import Limit, Outcome, Provenance, Reason, Summarised
from lightloom.core.schedule import SealedSchedule
from lightloom.problems.problem import LIGHTLOOM, Problem, ProblemAnswer, problem_for
from lightloom.problems.solver_model import model_that_fits, solver_answer
from lightloom.solvers import SOLVERS, SolveOptions, build_and_run, usable
from lightloom.synth.publish import signed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from lightloom.core.certificate import Certificate, Number
    from lightloom.instances.instance import Instance
    from lightloom.models import ModelSize
    from lightloom.solvers import Progress


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Summarised):
    """What came out of solving a problem.

    Attributes
    ----------
    instance, problem
        What was asked.
    outcome
        Why the search stopped, its answer, and who gave it. `Outcome.objective` and
        `Outcome.bound` are in the numbers of the model, which may count levels where
        the answer is a fraction.
    """

    instance: Instance
    problem: Problem
    outcome: Outcome[ProblemAnswer]

    def facts(self) -> Mapping[str, object]:
        """Return what was solved by whom, why it ended, and what it found."""
        by = self.outcome.provenance
        return {
            "instance": self.instance.name,
            "problem": self.problem.name,
            "solver": None if by is None else by.solver,
            "status": self.status.value,
            "value": self.value,
            "bound": self.bound,
            "unit": self.problem.unit,
        }

    @property
    def status(self) -> Reason:
        """Why the search stopped."""
        return self.outcome.reason

    @property
    def answer(self) -> object:
        """The answer itself, a record of its problem; ``None`` if there is none."""
        answer = self.outcome.incumbent
        return None if answer is None else answer.found

    @property
    def value(self) -> Number | None:
        """The objective of the answer, exact; ``None`` if there is none."""
        answer = self.outcome.incumbent
        return None if answer is None else answer.value

    @property
    def bound(self) -> Number | float | None:
        """What no answer can beat; ``None`` where nothing is known."""
        answer = self.outcome.incumbent
        return self.outcome.bound if answer is None else answer.bound

    @property
    def gap(self) -> float | None:
        """How far the objective is from the bound, relative to the bound."""
        return gap(self.outcome.objective, self.outcome.bound)

    @functools.cached_property
    def schedule(self) -> SealedSchedule | None:
        """The schedule that the answer is, with its footer; ``None`` if it is none.

        That of a solver's answer carries the best bound of the instance.

        Raises
        ------
        NoAnswerError
            If no schedule can hold the answer.
        """
        answer, problem = self.outcome.incumbent, self.problem
        if answer is None or answer.schedule is None:
            return None
        schedule = answer.schedule()
        if isinstance(schedule, SealedSchedule):
            return schedule
        if answer.certificates is not None or problem.bounds is None:
            return signed(schedule, self.instance, answer.certificates or ())
        by = self.outcome.provenance
        seed = 0 if by is None or by.seed is None else by.seed
        algorithm = replace(schedule.algorithm, seed=seed)
        best = problem.checked_bounds(self.instance, seed)[:1]
        return signed(replace(schedule, algorithm=algorithm), self.instance, best)

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Bounds with witnesses, the best first; of our own algorithms only."""
        answer = self.outcome.incumbent
        return () if answer is None else answer.certificates or ()


def solve(
    instance: Instance,
    problem: str | Problem | None = None,
    solver: str | None = None,
    *,
    variant: Mapping[str, object] | None = None,
    options: SolveOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """Solve a problem of an instance.

    Parameters
    ----------
    instance
        The instance.
    problem
        A problem or its name; ``None`` where the instance can be of one only.
    solver
        ``lightloom``, our own algorithm, one of `Problem.methods`, or the name of a
        solver. By default
        ``lightloom`` where it has an algorithm and neither a variant nor an option
        beside the seed is given, else ``highs``.
    variant
        Keyword arguments of the model's ``build``; see `Problem.variants`. Or
        ``method``, one of `Problem.methods`, which no solver takes.
    options
        Limits, seed and threads; by default no limits, seed 0, one thread. The time
        limit is one for building the model and solving it. ``lightloom`` takes none
        but the seed.
    progress
        Told in words what is being done.

    Returns
    -------
    The outcome. Infeasible and out of time are outcomes where a solver says so.

    Raises
    ------
    InputError
        Unknown problem, solver, variant or option; an instance that is not of the
        problem; a model that memory cannot hold, with its estimate.
    InfeasibleError
        If there is no answer, and that is plain without a solver.
    """
    known = problem if isinstance(problem, Problem) else problem_for(instance, problem)
    options, variant = options or SolveOptions(), dict(variant or {})
    known.check_variant(variant)
    tell = progress or (lambda _: None)
    method = variant.pop("method", None)
    if solver in known.methods and method in (None, solver):
        method, solver = solver, LIGHTLOOM
    if method is not None:
        if solver not in (None, LIGHTLOOM):
            what = "methods are lightloom's; solvers take none"
            raise InputError(what, where="method", found=method)
        solver = LIGHTLOOM
    for_model = bool(variant) or options != SolveOptions(seed=options.seed)
    if solver is None:
        own = known.solve is not None and not for_model
        solver = LIGHTLOOM if own else "highs"
    if solver == LIGHTLOOM:
        if for_model:
            what = "variants, limits and options are a solver's; lightloom takes none"
            raise InputError(what, where="solver", fix="use the solver highs")
        return Solution(
            instance, known, _by_lightloom(known, instance, options.seed, method)
        )
    if solver not in SOLVERS:
        allowed = [LIGHTLOOM, *known.methods, *SOLVERS]
        raise unknown_name("solver", solver, allowed, where="solver")
    usable(solver)
    if known.search is not None and not variant:
        outcome = known.search(instance, solver, options, tell)
    else:
        outcome = _by_model(known, instance, variant, solver, options, tell)
    return Solution(instance, known, outcome)


def _by_lightloom(
    problem: Problem, instance: Instance, seed: int, method: object = None
) -> Outcome[ProblemAnswer]:
    """Return the outcome of our own algorithm, or of one of our others by name."""
    own = problem.solve
    if method is not None:
        if str(method) not in problem.methods:
            raise unknown_name("method", str(method), problem.methods, where="method")
        own = problem.methods[str(method)].solve
    if own is None:
        what = f"lightloom has no algorithm of its own for {problem.name}"
        fix = "use the solver highs"
        raise InputError(what, where="solver", found=LIGHTLOOM, fix=fix)
    start = time.perf_counter()
    answer = own(instance, seed)
    wall_s = time.perf_counter() - start
    return Outcome(
        Reason.PROVEN_OPTIMAL if answer.proved else Reason.STOPPED_WITH_ANSWER,
        answer,
        _number(answer.value),
        None if answer.bound is None else _number(answer.bound),
        None,
        Provenance(LIGHTLOOM, __version__, None, None, None, seed, 1, wall_s, None),
        answer.detail,
    )


def _by_model(
    problem: Problem,
    instance: Instance,
    variant: Mapping[str, object],
    solver: str,
    options: SolveOptions,
    tell: Callable[[str], None],
) -> Outcome[ProblemAnswer]:
    """Return the outcome of a solver that was given the model."""
    formulation = model_that_fits(problem, instance, variant, tell)
    model, outcome = build_and_run(
        lambda: formulation.build(instance, **variant),
        solver,
        options,
        lambda news: tell(_progress_text(news)),
    )
    if outcome.incumbent is not None:
        answer = solver_answer(formulation, instance, model, outcome)
        return outcome.standing_for(answer)
    if outcome.limit is not Limit.TIME:
        return outcome.standing_for(None)
    return outcome.standing_for(None, _advice(formulation.size(instance, **variant)))


def _advice(size: ModelSize) -> str:
    """Return what to do about a model that takes too long."""
    text = f"the model has up to {size.rows:,} rows and {size.columns:,} columns"
    text += ": give it more time"
    return f"{text}, or use {size.instead}" if size.instead else text


def _progress_text(news: Progress) -> str:
    """Return what a solver tells, in a line."""
    parts = [f"{news.wall_s:.0f} s"]
    if news.objective is not None:
        parts.append(f"best {news.objective:.10g}")
    if news.bound is not None:
        parts.append(f"bound {news.bound:.10g}")
    if news.gap is not None:
        parts.append(f"gap {100 * news.gap:.2f} %")
    return ", ".join(parts)


def _number(value: int | Fraction) -> int | float:
    return value if isinstance(value, int) else float(value)
