"""The best division of a small demand on LIGHTPATH, for its schedule and its bound."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lightloom.synth.demand_configurations.exact_division import exact_division
from lightloom.synth.lightpath.tight_cuts import tight_cuts
from lightloom.validate.certificates.completion_time.configurations import (
    divided_lines,
)
from lightloom.validate.certificates.completion_time.step_costs import fixed_ps

if TYPE_CHECKING:
    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.synth.demand_configurations.exact_division import ExactDivision


@functools.lru_cache(maxsize=2)  # asked by a search, and by the bound
def small_division(fabric: Lightpath, demand: Demand) -> ExactDivision | None:
    """Return the best division by what nodes and cuts have.

    ``None`` of many pairs, and where circuits may stay lit while others change: then
    it is not durations alone that decide.
    """
    if fabric.dark_while_reconfiguring != "plane":
        return None
    divided = divided_lines(fabric, demand, tight_cuts(fabric, demand))
    return exact_division(divided, lambda count: fixed_ps(fabric, count, count))
