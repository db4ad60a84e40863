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

    The label is its name in the legend. Groups of bars and dots are named in `x`, equal
    in all series; spans lie on row `y` from `x` to `ends`. A dashed `style` is for what
    is not ours, an empty one for points alone; `colour` is one, or an index into
    `plots.COLOURS`, by default the place among the series. Staircases have no
    `markers`; `texts` stand in the points of a second series of a network.
    """

    label: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]
    style: LineStyle = "-"
    colour: int | str | None = None
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

    Kinds: ``lines``; ``bars`` or ``dots`` in groups; ``stack``, one bar a group, series
    on top of one another, the total above unless all are alike; ``matrix``, a row for
    each series, the darker the larger, zeros white, with or without a `scale` of its
    shades; ``spans``, bars along the x axis, each on its row; and ``network``, `lines`
    between the points of the first series (both ends and a weight, shown by colour and
    width, grey where it is 0; `y_label` says what it is), and those of a second one.

    `x_log` and `y_log` are bases of logarithmic axes. Bars have none: the length of a
    bar says nothing where the axis has no zero. Linear axes reach to `x_end` and
    `y_end` at least. `x_ticks` are places and texts, chosen where there are none.
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
