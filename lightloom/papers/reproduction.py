"""A figure or table of a paper, declared; computed, it is a `Reproduction`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from lightloom.papers.claims import CLAIM_COLUMNS, declared
from lightloom.report.panel import Panel, Series
from lightloom.report.plots import save_plot
from lightloom.report.tables import Column, save_csv, terminal_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rich.table import Table

    from lightloom.papers.claims import Comparison
    from lightloom.report.panel import Kind, LineStyle, Mark

PAPERS = {
    "bruck": "Bruck on shift rings",
    "decomposition": "parallel switches with delay",
    "lumorph": "LUMORPH",
    "overlap": "overlapped reconfiguration",
    "ramp": "RAMP",
    "sipac": "SiPAC",
    "sipml": "SiP-ML",
}
"""Titles of the papers, or their subjects, by what names of figures begin with."""

Value: TypeAlias = int | float | str | None
Row: TypeAlias = tuple[Value, ...]
Tell: TypeAlias = "Callable[[str], None]"
"""Told in a few words what is being computed."""
Compute: TypeAlias = "Callable[..., Iterable[Row]]"
Claims: TypeAlias = "Callable[[Data], Iterable[Comparison]]"
Panels: TypeAlias = "Callable[[Data], Iterable[Panel]]"


@dataclass(frozen=True)
class Data:
    """Rows under named columns, and the settings they were computed with."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    given: Mapping[str, Any] = field(default_factory=dict)

    def where(self, **wanted: Value) -> Data:
        """Return the rows that have the wanted values."""
        places = [(self.columns.index(name), value) for name, value in wanted.items()]
        kept = [
            row for row in self.rows if all(row[at] == value for at, value in places)
        ]
        return replace(self, rows=tuple(kept))

    def without(self, column: str, value: Value) -> Data:
        """Return the rows that have another value in a column."""
        place = self.columns.index(column)
        kept = [row for row in self.rows if row[place] != value]
        return replace(self, rows=tuple(kept))

    def values(self, column: str) -> list[Value]:
        """Return what stands in a column, row by row."""
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def numbers(self, column: str, **wanted: Value) -> list[float]:
        """Return the numbers of a column, without those that are missing."""
        kept = self.where(**wanted).values(column)
        return [value for value in kept if isinstance(value, int | float)]

    def number(self, column: str, **wanted: Value) -> float:
        """Return the number of a column in the only row that has the wanted values."""
        (only,) = self.numbers(column, **wanted)
        return only

    def sizes(self, column: str) -> list[float]:
        """Return the different numbers of a column, in order of appearance."""
        return list(dict.fromkeys(self.numbers(column)))

    def names(self, column: str) -> list[str]:
        """Return the different texts of a column, in order of appearance."""
        different = dict.fromkeys(self.values(column))
        return [value for value in different if isinstance(value, str)]

    def curve(self, x: str, y: str, **wanted: Value) -> dict[float, float]:
        """Return the numbers of a column by those of another, where both are there."""
        kept = self.where(**wanted)
        return {
            at: value
            for at, value in zip(kept.values(x), kept.values(y), strict=True)
            if isinstance(at, int | float) and isinstance(value, int | float)
        }


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A panel, or one for each value of a column, drawn from rows.

    Attributes
    ----------
    x, y
        Columns of the axes. For bars and dots `x` holds the names of the groups.
    x_label, y_label
        With units.
    series
        Column whose values are a series each; or columns drawn instead of `y`, with
        the labels of their series.
    panel
        Column whose values are a panel each; by default there is one panel.
    title
        Of a panel; ``{}`` stands for the value of `panel`.
    only, colours
        Values of `series` that are drawn, in order, by default all; and all that have
        a colour, in order, by default those drawn.
    names, styles
        Values of `series` as the legend has them, and their lines, where not whole.
    kind, x_log, y_log, marks
        As in `lightloom.report.panel.Panel`.
    tick, ticks_every
        Text of a value of `x` at its tick, or ``None`` to let ticks be chosen; every
        so many values have one.
    shown
        What is drawn of a value of `y`, for example in another unit.
    """

    x: str
    y: str = ""
    x_label: str
    y_label: str
    series: str | Mapping[str, str]
    panel: str | None = None
    title: str = "{}"
    only: tuple[Value, ...] = ()
    colours: tuple[Value, ...] = ()
    names: Mapping[str, str] | Callable[[str], str] = field(default_factory=dict)
    styles: Mapping[str, LineStyle] = field(default_factory=dict)
    kind: Kind = "lines"
    x_log: int | None = None
    y_log: int | None = None
    marks: tuple[Mark, ...] = ()
    tick: Callable[[float], str] | None = str
    ticks_every: int = 1
    shown: Callable[[float], float] = float

    def __call__(self, data: Data) -> Iterator[Panel]:
        """Yield the panels."""
        if self.panel is None:
            yield self._panel(data, data, self.title)
            return
        for value in dict.fromkeys(data.values(self.panel)):
            part = data.where(**{self.panel: value})
            yield self._panel(data, part, self.title.format(value))

    def _panel(self, whole: Data, part: Data, title: str) -> Panel:
        series = self._all_series(whole, part)
        ticks = None
        if self.tick is not None and self.kind == "lines":
            sizes = whole.sizes(self.x)[:: self.ticks_every]
            ticks = [(size, self.tick(size)) for size in sizes]
        return Panel(
            title,
            self.x_label,
            self.y_label,
            [line for line in series if line.x],
            self.kind,
            self.x_log,
            self.y_log,
            ticks,
            self.marks,
        )

    def _all_series(self, whole: Data, part: Data) -> list[Series]:
        if not isinstance(self.series, str):
            return [
                self._series(part, column, label, colour)
                for colour, (column, label) in enumerate(self.series.items())
            ]
        there = dict.fromkeys(whole.values(self.series))
        drawn = [value for value in self.only or there if value in there]
        colours = list(self.colours or drawn)
        return [
            self._series(
                part.where(**{self.series: value}), self.y, value, colours.index(value)
            )
            for value in drawn
        ]

    def _series(self, rows: Data, column: str, value: Value, colour: int) -> Series:
        points = [
            (x, self.shown(y))
            for x, y in zip(rows.values(self.x), rows.values(column), strict=True)
            if isinstance(y, int | float)
        ]
        xs: list[float] | list[str]
        xs = [x for x, _ in points if isinstance(x, int | float)]
        if self.kind != "lines":
            xs = [str(x) for x, _ in points]
        text, names = str(value), self.names
        label = names.get(text, text) if isinstance(names, Mapping) else names(text)
        style = self.styles.get(text, "-")
        return Series(label, xs, [y for _, y in points], style, colour)


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
    claims, panels
        Yield what the paper claims beside what the data say, and the plot.
    notes
        What a reader must know to read the numbers.
    section
        Where the paper says what the figure shows.
    takes_s
        Seconds that it takes one processor, measured.
    changes
        Settings other than the defaults, by name.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    compute: Compute
    claims: Claims
    panels: Panels
    notes: tuple[str, ...]
    section: str = ""
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
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.default is not inspect.Parameter.empty
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


def figures(
    package: str, *parts: tuple[str, Compute, Claims, Panels]
) -> tuple[Figure, ...]:
    """Return figures of a package, which are declared in its ``figures.toml``.

    A table a figure: `title`, `columns`, and where they are not the defaults `section`,
    `takes_s` and `notes`; a note is a text, or the name of one of the table `shared`.

    `parts`: name of each, and what yields its rows, its claims and its panels.
    """
    tables = declared(package)
    shared = tables.get("shared", {})

    def told(name: str, compute: Compute, claims: Claims, panels: Panels) -> Figure:
        given = dict(tables[name])
        notes = (shared.get(note, note) for note in given.pop("notes", ()))
        given["notes"] = tuple(" ".join(note.split()) for note in notes)
        given["columns"] = tuple(given["columns"])
        return Figure(name, compute=compute, claims=claims, panels=panels, **given)

    return tuple(told(*part) for part in parts)


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


def in_order(name: str) -> list[int | str]:
    """Return a key of names of figures that puts Fig. 3 before Fig. 10."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if part.isdigit() else part for part in parts]


def _shown(value: Value) -> str | int | None:
    """Return a value as tables show it."""
    return f"{value:,.3f}" if isinstance(value, float) else value
