"""How rows become panels: which columns are the axes, the series and the panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.report.panel import Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.papers.figure_data import Data, Value
    from lightloom.report.panel import Kind, LineStyle, Mark


@dataclass(frozen=True)
class Plot:
    """A panel, or one for each value of a column, drawn from rows.

    Attributes
    ----------
    x, y
        Columns of the axes. For bars and dots `x` holds the names of the groups.
    x_label, y_label
        With units.
    series
        Column whose values are a series each.
    panel
        Column whose values are a panel each; by default there is one panel.
    title
        Of a panel; ``{}`` stands for the value of `panel`.
    only
        Values of `series` that are drawn, in order; by default all.
    names
        Values of `series` as the legend has them, where they differ.
    styles
        Line styles by value of `series`, where they are not whole lines.
    kind, x_log, y_log, marks
        As in `lightloom.report.panel.Panel`.
    tick
        Text of a value of `x` at its tick, or ``None`` to let ticks be chosen.
    ticks_every
        Every so many values of `x` have a tick.
    shown
        What is drawn of a value of `y`, for example in another unit.
    """

    x: str
    y: str
    x_label: str
    y_label: str
    series: str
    panel: str | None = None
    title: str = "{}"
    only: tuple[Value, ...] | None = None
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
        places = list(dict.fromkeys(whole.values(self.series)))
        drawn = [one for one in self.only or places if one in places]
        series = [
            self._series(part.where(**{self.series: one}), one, place)
            for place, one in enumerate(drawn)
        ]
        ticks = None
        if self.tick is not None and self.kind == "lines":
            sizes = whole.sizes(self.x)[:: self.ticks_every]
            ticks = [(size, self.tick(size)) for size in sizes]
        return Panel(
            title,
            self.x_label,
            self.y_label,
            [one for one in series if one.x],
            self.kind,
            self.x_log,
            self.y_log,
            ticks,
            self.marks,
        )

    def _series(self, rows: Data, value: Value, place: int) -> Series:
        found = [
            (at, self.shown(y))
            for at, y in zip(rows.values(self.x), rows.values(self.y), strict=True)
            if isinstance(y, int | float)
        ]
        xs = [at for at, _ in found]
        x: list[float] | list[str] = [at for at in xs if isinstance(at, int | float)]
        if self.kind != "lines":
            x = [str(at) for at in xs]
        text, names = str(value), self.names
        label = names.get(text, text) if isinstance(names, Mapping) else names(text)
        style = self.styles.get(text, "-")
        return Series(label, x, [y for _, y in found], style, place)
