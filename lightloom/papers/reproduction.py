"""A figure or table of a paper, declared; computed, it is a `Reproduction`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lightloom.papers import PAPERS
from lightloom.papers.claims import CLAIM_COLUMNS
from lightloom.papers.figure_data import Data
from lightloom.report.csv_file import save_csv
from lightloom.report.plots import save_plot
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from rich.table import Table

    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Row, Tell, Value
    from lightloom.report.panel import Panel

DATA_FILE, CLAIMS_FILE = "data.csv", "comparison.csv"
"""Files of a computed figure; its pictures bear its name."""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper.

    Attributes
    ----------
    name
        On the command line: paper and number, for example ``lumorph-fig7``.
    title
        What it shows, in one line.
    columns
        Names of the columns of its data, with units.
    compute
        Yields the rows. Takes a function that is told what is being done, and
        settings by name, all with the values of the paper as defaults.
    claims
        Yields what the paper claims beside what the data say.
    panels
        Yields the panels of the plot.
    notes
        What a reader must know to read the numbers.
    takes_s
        Seconds that it takes one processor, measured.
    changes
        Settings other than the defaults, by name.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    compute: Callable[..., Iterable[Row]]
    claims: Callable[[Data], Iterable[Comparison]]
    panels: Callable[[Data], Iterable[Panel]]
    notes: tuple[str, ...]
    takes_s: int = 1
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Paper and number as papers cite them, for example ``LUMORPH Fig. 7``."""
        paper, number = self.name.split("-")
        kind = number.rstrip("0123456789ab")
        words = {"fig": "Fig.", "table": "Table"}
        return f"{PAPERS[paper]} {words[kind]} {number.removeprefix(kind)}"

    @property
    def settings(self) -> dict[str, Any]:
        """What `compute` is called with, by name."""
        parameters = inspect.signature(self.compute).parameters.values()
        defaults = {
            each.name: each.default
            for each in parameters
            if each.default is not inspect.Parameter.empty
        }
        return {**defaults, **self.changes}

    def at(self, **changes: object) -> Figure:
        """Return the figure with some settings changed, for example smaller."""
        unknown = set(changes) - set(self.settings)
        if unknown:
            message = f"{self.name} has no settings {sorted(unknown)}"
            raise TypeError(message)
        return replace(self, changes={**self.changes, **changes})

    def run(self, tell: Tell) -> Reproduction:
        """Compute the rows, judge the claims and lay out the plot."""
        given = self.settings
        data = Data(self.columns, tuple(self.compute(tell, **given)), given)
        tell("comparing with the paper")
        return Reproduction(
            self, data, tuple(self.claims(data)), tuple(self.panels(data))
        )


@dataclass(frozen=True)
class Reproduction:
    """A computed figure: its data, the paper's claims beside ours, and the plot."""

    figure: Figure
    data: Data
    comparisons: tuple[Comparison, ...]
    panels: tuple[Panel, ...]

    def data_table(self) -> Table:
        """Return the data as a terminal table."""
        rows = self.data.rows
        columns = [
            Column(name.replace("_", " "), number=not isinstance(value, str))
            for name, value in zip(
                self.data.columns, rows[0] if rows else (), strict=False
            )
        ]
        return terminal_table(
            columns,
            [[_shown(value) for value in row] for row in rows],
            title=f"{self.figure.name}: {self.figure.title}",
        )

    def comparison_table(self) -> Table:
        """Return the claims as a terminal table, without columns that are empty."""
        rows = [entry.row() for entry in self.comparisons]
        used = [at for at in range(len(CLAIM_COLUMNS)) if any(row[at] for row in rows)]
        return terminal_table(
            [Column(CLAIM_COLUMNS[at]) for at in used],
            [[row[at] for at in used] for row in rows],
            title="beside the paper",
        )

    def save(self, folder: Path) -> tuple[Path, ...]:
        """Write ``data.csv``, ``comparison.csv``, the PNG and the SVG."""
        folder.mkdir(parents=True, exist_ok=True)
        data, claims = folder / DATA_FILE, folder / CLAIMS_FILE
        save_csv(self.data.columns, self.data.rows, data)
        save_csv(CLAIM_COLUMNS, [entry.row() for entry in self.comparisons], claims)
        title = f"{self.figure.label}: {self.figure.title}"
        plots = save_plot(self.panels, folder / self.figure.name, title=title)
        return (data, claims, *plots)


def _shown(value: Value) -> str | int | None:
    """Return a value as tables show it."""
    return f"{value:,.3f}" if isinstance(value, float) else value
