"""A sweep as a table and as pictures: completion times over sizes and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.certificate import gap
from lightloom.core.units import PS_PER_US, format_bytes, format_ps
from lightloom.report.bandwidth import RATES, Bandwidth, bandwidth
from lightloom.report.panel import Panel, Series
from lightloom.report.tables import terminal_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.table import Table

_BYTES = "buffer_bytes"
_GB = 10**9
_WIDE = 30
"""Largest value over smallest from which on an axis is logarithmic."""


@dataclass(frozen=True)
class SweepRow:
    """One point of a sweep.

    `values` has the value of each key, then of ``algorithm``; `ending` says how the run
    ended, `detail` what a person should know beyond that.
    """

    values: Mapping[str, object]
    task: object
    completion_time_ps: int | None
    bound_ps: int | None
    ending: str
    detail: str

    def record(self) -> dict[str, object]:
        """Return the columns of CSV and JSON by name."""
        rates = self._rates()
        return {
            **self.values,
            "completion_time_ps": self.completion_time_ps,
            "bound_ps": self.bound_ps,
            "gap": self._gap(),
            **(rates.record() if rates else dict.fromkeys(RATES)),
            "ending": self.ending,
            "detail": self.detail,
        }

    def cells(self) -> tuple[object, ...]:
        """Return what a table shows."""
        time_ps, distance, rates = self.completion_time_ps, self._gap(), self._rates()
        return (
            *(_shown(key, value) for key, value in self.values.items()),
            self.ending if time_ps is None else format_ps(time_ps),
            None if distance is None else f"{100 * distance:.1f} %",
            None if rates is None else f"{rates.algorithm_bytes_per_s / _GB:,.2f}",
            None if rates is None else f"{rates.bus_bytes_per_s / _GB:,.2f}",
        )

    def bus_gb_per_s(self) -> float | None:
        """Return the bus bandwidth in decimal gigabytes a second."""
        rates = self._rates()
        return None if rates is None else rates.bus_bytes_per_s / _GB

    def time_us(self) -> float | None:
        """Return the completion time in microseconds."""
        time_ps = self.completion_time_ps
        return None if time_ps is None else time_ps / PS_PER_US

    def _gap(self) -> float | None:
        if self.completion_time_ps is None or not self.bound_ps:
            return None
        return gap(self.completion_time_ps, self.bound_ps)

    def _rates(self) -> Bandwidth | None:
        return bandwidth(self.task, self.completion_time_ps)


def sweep_table(rows: Sequence[SweepRow]) -> Table:
    """Return a sweep as a table of the terminal."""
    *keys, _ = rows[0].values
    columns = [
        *(f"{_heading(key)}#" for key in keys),
        *("algorithm", "completion time#", "above bound#"),
        *("algorithm GB/s#", "bus GB/s#"),
    ]
    return terminal_table(columns, [row.cells() for row in rows])


def sweep_panels(rows: Sequence[SweepRow]) -> list[Panel]:
    """Return panels of a sweep: completion time and, of collectives, bus bandwidth.

    The x axis is the first key of numbers; each combination of the others, and each
    algorithm, is a line. Where no key has numbers, there is a group of dots for each
    combination of values.
    """
    x = next((key for key in rows[0].values if _is_axis(key, rows)), None)
    panels = [_panel(rows, x, "completion time, us", SweepRow.time_us)]
    if any(row.bus_gb_per_s() is not None for row in rows):
        panels.append(_panel(rows, x, "bus bandwidth, GB/s", SweepRow.bus_gb_per_s))
    return panels


def _is_axis(key: str, rows: Sequence[SweepRow]) -> bool:
    values = {row.values[key] for row in rows}
    return len(values) > 1 and all(type(value) in (int, float) for value in values)


def _panel(
    rows: Sequence[SweepRow],
    x: str | None,
    y_label: str,
    y: Callable[[SweepRow], float | None],
) -> Panel:
    keys = rows[0].values
    varied = [
        key for key in keys if key != x and len({row.values[key] for row in rows}) > 1
    ]
    drawn = [(row, height) for row in rows if (height := y(row)) is not None]
    heights = [height for _, height in drawn]
    y_log = 10 if _is_wide(heights) else None
    if x is None:
        names = [_label(row, varied) for row, _ in drawn]
        dots = Series(y_label, names, heights)
        return Panel(
            y_label.partition(",")[0], "", y_label, [dots], kind="dots", y_log=y_log
        )
    lines: dict[str, list[tuple[float, float]]] = {}
    for row, height in drawn:
        point = float(str(row.values[x])), height
        lines.setdefault(_label(row, varied), []).append(point)
    places = sorted({float(str(row.values[x])) for row in rows})
    return Panel(
        title=y_label.partition(",")[0],
        x_label=_heading(x),
        y_label=y_label,
        series=[
            Series(label, [place for place, _ in points], [at for _, at in points])
            for label, points in lines.items()
        ],
        x_log=2 if _is_wide(places) else None,
        y_log=y_log,
        x_ticks=[(place, _shown(x, int(place))) for place in places]
        if x.endswith(_BYTES)
        else None,
    )


def _is_wide(values: Sequence[float]) -> bool:
    """Return whether values want a logarithmic axis."""
    return bool(values) and min(values) > 0 and max(values) > _WIDE * min(values)


def _label(row: SweepRow, keys: Sequence[str]) -> str:
    """Return what tells a line or a dot from the others."""
    said = [_said(key, row.values[key]) for key in keys]
    return ", ".join(said) or str(row.values["algorithm"])


def _heading(key: str) -> str:
    return key.rpartition(".")[2].replace("_", " ").replace("buffer bytes", "buffer")


def _shown(key: str, value: object) -> str:
    if key.endswith(_BYTES) and isinstance(value, int):
        return format_bytes(value)
    return str(value)


def _said(key: str, value: object) -> str:
    return str(value) if key == "algorithm" else f"{_heading(key)} {_shown(key, value)}"
