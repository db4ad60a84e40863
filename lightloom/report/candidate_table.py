"""What `auto` compared, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import format_ps
from lightloom.report.algorithm_table import value_text
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from lightloom.synth.auto.candidate_pool import Candidate

_COLUMNS = (
    Column("algorithm"),
    Column("parameters"),
    Column("mapping"),
    Column("at least", number=True),
    Column("replayed", number=True),
    Column("reconfigurations", number=True),
)


def candidate_table(compared: Sequence[Candidate], *, shown: int) -> Table:
    """Return the first candidates; the title says how many there were.

    Parameters
    ----------
    compared
        Candidates, the fastest first.
    shown
        How many are shown.
    """
    realised = sum(candidate.completion_time_ps is not None for candidate in compared)
    title = f"compared {len(compared)} candidates, {realised} of them by replay"
    if len(compared) > shown:
        title += f"; the best {shown}"
    rows = [
        (
            candidate.algorithm,
            parameters_text(candidate.parameters),
            candidate.mapping,
            format_ps(candidate.predicted_ps),
            _time(candidate.completion_time_ps),
            candidate.reconfigurations,
        )
        for candidate in compared[:shown]
    ]
    return terminal_table(_COLUMNS, rows, title=title)


def parameters_text(parameters: Mapping[str, object]) -> str:
    """Return parameters as ``--param`` takes them."""
    return " ".join(f"{key}={value_text(value)}" for key, value in parameters.items())


def _time(time_ps: int | None) -> str | None:
    return None if time_ps is None else format_ps(time_ps)
