"""``lightloom solve --problem rounds``: horizon by horizon, from the bound upward."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightloom.cli.problem_model import check_problem_size
from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.models import problem_of
from lightloom.problems.fewest_rounds.exact_rounds import fewest_rounds
from lightloom.problems.fewest_rounds.reversed_rounds import copying

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.outcome import Outcome
    from lightloom.problems.fewest_rounds.exact_rounds import Exact
    from lightloom.solvers import SolveOptions


def search_horizons(
    name: str, solver: str, options: SolveOptions, tell: Callable[[str], None]
) -> Outcome[Exact]:
    """Return the fewest rounds of an instance, by a solver.

    Raises
    ------
    InputError
        Unknown instance, one that is not a collective on LIGHTPATH, or a model that
        is too large for the memory there is.
    InfeasibleError
        If nothing can be sent at all.
    """
    instance = load_instance(name)
    if isinstance(instance.task, Collective):
        asked = replace(instance, task=copying(instance.task))
        check_problem_size(problem_of("rounds"), asked, {}, tell)
    return fewest_rounds(instance, solver=solver, options=options, progress=tell)
