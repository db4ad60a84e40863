"""PDLP: large linear programs to moderate accuracy, through OR-Tools.

Its traps, and what is done about them: it takes no seed (it is deterministic) and no
callbacks, so nothing is told while it runs; its points are feasible and optimal to
1e-6 only, and their objective is no exact optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.solvers import math_opt
from lightloom.solvers.adapter import LINEAR_ONLY, Capabilities, TakesEveryModel
from lightloom.solvers.options import check_not_ours, set_field

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Answer
    from lightloom.solvers.availability import Status
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm

_OURS = ("num_threads", "verbosity_level", "termination_criteria")


@dataclass(frozen=True)
class Pdlp(TakesEveryModel):
    """The PDLP adapter."""

    name: str = "pdlp"
    summary: str = "first-order method for large linear programs, through OR-Tools"
    capabilities: Capabilities = LINEAR_ONLY

    def status(self) -> Status:
        """Return whether OR-Tools is there in a version that works."""
        return math_opt.REQUIREMENT.status()

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve a model with PDLP."""
        backend = math_opt.Backend(
            "PDLP", (), node_limit=False, seed=False, configure=_configure
        )
        return math_opt.solve(backend, form, options, reporter)


def _configure(parameters: Any, options: SolveOptions, form: StandardForm) -> None:  # noqa: ANN401
    """Set PDLP's own parameters."""
    del form
    check_not_ours("pdlp", options.extra, _OURS)
    for name, value in options.extra.items():
        set_field("PDLP", parameters.pdlp, name, value)


ADAPTER = Pdlp()
