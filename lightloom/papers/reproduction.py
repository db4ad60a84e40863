"""What comes out of computing a figure: data, a plot, and the paper beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lightloom.report.csv_file import save_csv
from lightloom.report.plots import save_plot
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from lightloom.report.plots import Panel

_CLAIMS = ("claim", "paper", "ours", "verdict", "why")

Value = int | float | str | None


class Verdict(StrEnum):
    """How a claim of the paper fares."""

    MATCHES = "matches"
    DIFFERS = "differs"
    NOT_REPRODUCIBLE = "not reproducible"


@dataclass(frozen=True)
class Comparison:
    """A claim of the paper beside what was computed.

    Attributes
    ----------
    claim
        What is claimed, and where.
    paper, ours
        The two values, in words.
    verdict
        How they compare.
    why
        Why they differ, or what input is missing; may be empty for a match.
    """

    claim: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Reproduction:
    """A computed figure.

    Attributes
    ----------
    name, title
        As in the catalogue.
    columns, rows
        The data behind it.
    comparisons
        The paper's claims beside ours.
    notes
        What a reader must know to read the numbers.
    panels
        The plot.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]
    panels: tuple[Panel, ...]

    def data_table(self) -> Table:
        """Return the data as a terminal table."""
        first = self.rows[0] if self.rows else ()
        columns = [
            Column(name.replace("_", " "), number=not isinstance(value, str))
            for name, value in zip(self.columns, first, strict=False)
        ]
        rows = [[_shown(value) for value in row] for row in self.rows]
        return terminal_table(columns, rows, title=f"{self.name}: {self.title}")

    def comparison_table(self) -> Table:
        """Return the claims as a terminal table."""
        columns = [
            Column(name) for name in ("claim", "paper", "ours", "verdict", "why")
        ]
        rows = [
            (entry.claim, entry.paper, entry.ours, str(entry.verdict), entry.why)
            for entry in self.comparisons
        ]
        return terminal_table(columns, rows, title="beside the paper")

    def save(self, folder: Path) -> tuple[Path, ...]:
        """Write ``data.csv``, ``comparison.csv``, the PNG and the SVG to `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        data, claims = folder / "data.csv", folder / "comparison.csv"
        save_csv(self.columns, self.rows, data)
        save_csv(
            _CLAIMS,
            [
                (entry.claim, entry.paper, entry.ours, str(entry.verdict), entry.why)
                for entry in self.comparisons
            ],
            claims,
        )
        return (data, claims, *save_plot(self.panels, folder / self.name))


def _shown(value: Value) -> str | int | None:
    """Return a value as tables show it."""
    return f"{value:,.3f}" if isinstance(value, float) else value
