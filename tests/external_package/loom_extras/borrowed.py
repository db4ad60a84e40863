"""A solver: HiGHS under another name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.solvers.adapter import LINEAR_AND_INTEGER, Capabilities
from lightloom.solvers.highs import ADAPTER as HIGHS

if TYPE_CHECKING:
    from lightloom.solvers import SolveOptions, Status
    from lightloom.solvers.adapter import Answer
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Borrowed:
    """An adapter that hands everything on."""

    name: str = "borrowed"
    summary: str = "HiGHS under another name"
    capabilities: Capabilities = LINEAR_AND_INTEGER

    def status(self) -> Status:
        """Return whether HiGHS is there."""
        return HIGHS.status()

    def refuse(self, form: StandardForm) -> None:
        """Refuse what HiGHS refuses."""
        HIGHS.refuse(form)

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve with HiGHS."""
        return HIGHS.solve(form, options, reporter)


ADAPTER = Borrowed()
