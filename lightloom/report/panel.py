"""Panels: what is to be drawn, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

LineStyle: TypeAlias = Literal["-", "--", ":", ""]
Kind: TypeAlias = Literal[
    "lines", "bars", "dots", "stack", "matrix", "spans", "network"
]


@dataclass(frozen=True)
class Series:
    """One line, or one set of bars: ``y[i]`` at ``x[i]``.

    Attributes
    ----------
    label
        Name in the legend.
    x, y
        Points; for bars and dots `x` are the names of the groups, equal in all series.
    style
        Line style; dashed for what is not ours, empty for points alone.
    colour
        Index into `lightloom.report.panel_drawing.COLOURS`; by default the place
        among the series.
    markers
        Whether the points of a line are marked; those of a staircase are not.
    ends
        Of spans: where each ends that begins at `x` on row `y`.
    texts
        Of a network: what stands in each point of a second series, if anything.
    """

    label: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]
    style: LineStyle = "-"
    colour: int | None = None
    markers: bool = True
    ends: Sequence[float] = ()
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Mark:
    """A labelled line across a panel: vertical at `x` or horizontal at `y`.

    `groups` are the first and the last group of bars or dots that a horizontal one is
    about, from 0; by default it goes across the panel.
    """

    label: str
    x: float | None = None
    y: float | None = None
    groups: tuple[int, int] | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Panels of a figure that are of one kind, with the same label and the same scale of
    an axis, are there to be compared: that axis is the same in all of them. So are the
    colours of matrices whose rows are labelled alike.

    Attributes
    ----------
    title, x_label, y_label
        With units.
    series
        What is drawn.
    kind
        ``lines``; ``bars`` in groups; ``dots`` in groups; ``stack``: one bar a group,
        series on top of one another, the total above unless all are alike;
        ``matrix``: a row for each series, the darker the larger, zeros white;
        ``spans``: bars along the x axis, each on its row; or ``network``: `lines`
        between the points of the first series, and those of a second with texts.
    x_log, y_log
        Base of a logarithmic axis, or ``None`` for a linear one. Bars have none: the
        length of a bar says nothing where the axis has no zero.
    x_ticks
        Places and texts of the ticks, or ``None`` to let them be chosen.
    marks
        Lines across the panel.
    x_end, y_end
        Where linear axes end at least, for panels that are to be compared.
    lines
        Of a network: both ends of each line, and its weight, shown by colour and width,
        grey where it is 0; `y_label` says what it is.
    scale
        Whether a matrix has a scale of its shades.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    kind: Kind = "lines"
    x_log: int | None = None
    y_log: int | None = None
    x_ticks: Sequence[tuple[float, str]] | None = None
    marks: Sequence[Mark] = field(default=())
    x_end: float | None = None
    y_end: float | None = None
    lines: Sequence[tuple[tuple[float, float], tuple[float, float], float]] = ()
    scale: bool = True

    def __post_init__(self) -> None:
        if self.kind in ("bars", "stack") and self.y_log:
            message = f"{self.kind} on a logarithmic axis: draw dots"
            raise ValueError(message)
