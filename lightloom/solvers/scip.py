"""SCIP: linear and mixed-integer programs, through OR-Tools.

Its traps, and what is done about them: an option is typed (bool, int, longint, real,
char, string) and a wrong type is as unknown as a wrong name, so the type is read off
the value. It writes harmless error lines when its callbacks are registered; they are
seen only with the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.solvers import math_opt
from lightloom.solvers.adapter import LINEAR_AND_INTEGER, Capabilities, TakesEveryModel
from lightloom.solvers.options import check_not_ours

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Answer
    from lightloom.solvers.availability import Status
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm

_OURS = (
    "limits/absgap",
    "limits/gap",
    "limits/nodes",
    "limits/time",
    "limits/totalnodes",
    "parallel/maxnthreads",
    "randomization/randomseedshift",
)


@dataclass(frozen=True)
class Scip(TakesEveryModel):
    """The SCIP adapter."""

    name: str = "scip"
    summary: str = "branch and cut, through OR-Tools"
    capabilities: Capabilities = LINEAR_AND_INTEGER

    def status(self) -> Status:
        """Return whether OR-Tools is there in a version that works."""
        return math_opt.REQUIREMENT.status()

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve a model with SCIP."""
        backend = math_opt.Backend(
            "GSCIP",
            ("MIP_SOLUTION", "MIP_NODE"),
            node_limit=True,
            seed=True,
            configure=_configure,
        )
        return math_opt.solve(backend, form, options, reporter)


def _configure(parameters: Any, options: SolveOptions, form: StandardForm) -> None:  # noqa: ANN401
    """Set SCIP's own parameters."""
    del form
    check_not_ours("scip", options.extra, _OURS)
    for name, value in options.extra.items():
        if isinstance(value, bool):
            parameters.gscip.bool_params[name] = value
        elif isinstance(value, int):
            parameters.gscip.int_params[name] = value
        elif isinstance(value, float):
            parameters.gscip.real_params[name] = value
        elif len(value) == 1:
            parameters.gscip.char_params[name] = value
        else:
            parameters.gscip.string_params[name] = value


ADAPTER = Scip()
