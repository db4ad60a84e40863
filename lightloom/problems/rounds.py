"""The problem of the fewest rounds of a collective: LUMORPH paper, Algorithm 1."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.task import Collective
from lightloom.instances.collectives import check_collective, op_of
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.fewest_rounds.few_rounds import METHODS, few_rounds
from lightloom.problems.fewest_rounds.round_bounds import round_bounds
from lightloom.problems.problem import (
    Formulation,
    Method,
    Problem,
    ProblemAnswer,
    asked_of,
)
from lightloom.problems.solver_model import model_that_fits
from lightloom.validate.certificates.rounds import OBJECTIVE, RoundsQuestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Certificate
    from lightloom.core.outcome import Outcome
    from lightloom.instances.instance import Instance
    from lightloom.problems.fewest_rounds.few_rounds import FewRounds
    from lightloom.solvers import SolveOptions


def question(instance: Instance) -> RoundsQuestion:
    """Return the grid and the collective, chunks as few as can be."""
    fabric, task = instance.fabric, instance.task
    if not isinstance(fabric, Lightpath) or not isinstance(task, Collective):
        what = "rounds are those of a collective on a fabric of kind lightpath"
        raise InputError(what, where=instance.name, found=asked_of(instance))
    if task.chunks is None:
        blocks = op_of(task).uses_blocks or task.op == "all-reduce"
        task = msgspec.structs.replace(task, chunks=task.rank_count if blocks else 1)
    check_collective(task, fabric.node_count)
    if not fabric.lasers and task.rank_count > 1:
        what = "nothing can be sent: the tiles have no lasers"
        raise InfeasibleError(what, where="fabric.lasers", found=0)
    return RoundsQuestion(fabric, task)


def solve(instance: Instance, seed: int) -> ProblemAnswer:
    """Return a collective in few rounds, by structure, with a bound on their number."""
    return _answered(few_rounds(instance, seed=seed))


def divide(instance: Instance, seed: int) -> ProblemAnswer:
    """Return a collective by divide and conquer (section 3.2), bounded as by `solve`.

    Raises `InputError` if the instance is of another problem or collective, or the
    nodes are no rectangle; `InfeasibleError` if there is no answer.
    """
    return _answered(few_rounds(instance, seed=seed, method=METHODS[1]))


def _answered(found: FewRounds) -> ProblemAnswer:
    """Return rounds as an answer."""
    why = f"at least {found.bound.rounds} rounds ({found.bound.kind})"
    return ProblemAnswer(
        found.rounds,
        found.bound.rounds,
        (f"made by {found.method}", f"{why}: {found.bound.reason}"),
        found.schedule,
        (found.bound.certificate,),
        found,
    )


def bounds(asked: RoundsQuestion, seed: int) -> tuple[Certificate, ...]:
    """Return the bounds on the number of rounds."""
    del seed
    found = round_bounds(asked.fabric, asked.collective)
    found.sort(key=lambda bound: -bound.rounds)
    return tuple(bound.certificate for bound in found)


def search(
    instance: Instance,
    solver: str,
    options: SolveOptions,
    tell: Callable[[str], None],
) -> Outcome[ProblemAnswer]:
    """Return the fewest rounds by a solver, horizon by horizon.

    Horizons are tried from the certified bound upward, each as a question of
    feasibility.

    `options`: the time limit is for all horizons together, other limits for each.

    Raises `InputError` if the instance is of another problem, or a model too large for
    memory; `InfeasibleError` if nothing can be sent at all.
    """
    from lightloom.problems.fewest_rounds.exact_rounds import copying, fewest_rounds

    if isinstance(instance.task, Collective):
        asked = replace(instance, task=copying(instance.task))
        model_that_fits(PROBLEM, asked, {}, tell)
    found = fewest_rounds(instance, solver=solver, options=options, progress=tell)
    exact, answer = found.incumbent, None
    if exact is not None:
        bound = None if found.bound is None else int(found.bound)
        kind = exact.bound.kind if bound == exact.bound.rounds else ""
        answer = ProblemAnswer(
            exact.rounds,
            bound,
            found.detail,
            lambda: exact.schedule,
            found=exact,
            bound_kind=kind,
        )
    return found.standing_for(answer)


def _formulation() -> Formulation:
    from lightloom.models import rounds

    return Formulation(
        rounds.build,
        rounds.decode_rounds,
        rounds.round_count,
        rounds.size,
        rounds.rounds_schedule,
    )


PROBLEM = Problem(
    name="rounds",
    summary="fewest rounds of a collective on light paths (LUMORPH, Algorithm 1)",
    sense="minimise",
    unit="rounds",
    fabric=Lightpath,
    tasks=(Collective,),
    question=question,
    solve=solve,
    bounds=bounds,
    formulation=_formulation,
    variants=(
        ("horizon", "rounds there may be"),
        ("least", "rounds there are at least"),
        ("objective", "`rounds` to minimise them, or `feasibility`"),
        ("wavelengths", "`explicit`, or `aggregated` to their number"),
        ("paths", "candidate routes a pair, or how many to find"),
        ("pinned", "pin what can be permuted freely"),
    ),
    search=search,
    methods={
        METHODS[1]: Method("squares of four tiles, then doubling (section 3.2)", divide)
    },
    schedule_objective=OBJECTIVE.name,
)
