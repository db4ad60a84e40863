"""What commands found, as tables: bounds, rounds of a replay, jobs, trainings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.core.certificate import gap
from lightloom.core.units import GIGA, PS_PER_S, PS_PER_US, format_bytes, format_ps
from lightloom.report.bandwidth import RATES, Bandwidth, bandwidth
from lightloom.report.panel import Panel, Series
from lightloom.report.tables import terminal_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.table import Table

    from lightloom.core.certificate import Certificate, Number
    from lightloom.replay import Timeline
    from lightloom.replay.timeline import StepTime
    from lightloom.training.job_run import ClusterRun
    from lightloom.training.training_plan import TrainingPlan


_COLUMNS = ("kind", "bound#", "witness")
_SHOWN = 8
"""Members of a list that fit a line."""
_FEW_KEYS = 3
"""Keys of a witness that fit a line with their values."""


def bound_table(certificates: Sequence[Certificate], unit: str) -> Table:
    """Return bounds with their witnesses, in the given order.

    `unit` is that of the objective; whole ``ps`` are shown as other times are.
    """
    rows = [
        (one.kind, _bound(one.bound, unit), _witness(one.witness))
        for one in certificates
    ]
    return terminal_table(_COLUMNS, rows)


def _bound(bound: Number, unit: str) -> str:
    """Return a bound: a time with its unit, else a number."""
    return format_ps(bound) if unit == "ps" and isinstance(bound, int) else str(bound)


def _witness(witness: Mapping[str, object]) -> str:
    """Return a witness, of one with many keys how long the lists are."""
    if len(witness) > _FEW_KEYS:
        lists = {
            key: value for key, value in witness.items() if isinstance(value, list)
        }
        return ", ".join(f"{key} ({len(value)})" for key, value in lists.items())
    return ", ".join(f"{key} {_short(value)}" for key, value in witness.items())


def _short(value: object) -> str:
    """Return a value, a long list by its first members and its length."""
    if not isinstance(value, list) or len(value) <= _SHOWN:
        return str(value)
    first = ", ".join(map(str, value[:_SHOWN]))
    return f"[{first}, ...] ({len(value)})"


_ROUND_TABLE_COLUMNS = (
    "step#",
    "plane:segment",
    "transfers#",
    "data#",
    "released#",
    "ended#",
    "lasts#",
)
_ENDS = 8
"""Steps shown at either end of a long schedule."""


def round_table(timeline: Timeline) -> Table:
    """Return the steps of a replay; the middle of a long one is left out."""
    return terminal_table(_ROUND_TABLE_COLUMNS, _rows(timeline))


def _rows(timeline: Timeline) -> Iterator[tuple[object, ...]]:
    steps = timeline.steps
    if len(steps) <= 2 * _ENDS + 1:
        yield from map(_row, steps)
        return
    yield from map(_row, steps[:_ENDS])
    left_out = f"{len(steps) - 2 * _ENDS} more"
    yield ("...", left_out, *[""] * (len(_ROUND_TABLE_COLUMNS) - 2))
    yield from map(_row, steps[-_ENDS:])


def _row(step: StepTime) -> tuple[object, ...]:
    segments = " ".join(f"{plane}:{segment}" for plane, segment in step.segments)
    return (
        step.index,
        segments or None,
        step.transfers,
        format_bytes(step.bytes),
        format_ps(step.release_ps),
        format_ps(step.end_ps),
        format_ps(step.duration_ps),
    )


JOB_COLUMNS = (
    *("name", "devices", "nodes", "strategy", "arrival_us", "waiting_us", "start_us"),
    *("finish_us", "iterations", "alone_us", "together_us", "slow_down"),
)
MOMENT_COLUMNS = (
    *("time_us", "running", "waiting", "busy", "free", "longest_block"),
    "free_outside_longest",
)


def job_rows(run: ClusterRun) -> list[tuple[object, ...]]:
    """Return a row of `JOB_COLUMNS` for each job."""
    return [
        (
            *(each.job.name, each.job.devices, _ranges(each.nodes), each.strategy),
            each.job.arrival_ps / PS_PER_US,
            each.waiting_ps / PS_PER_US,
            None if each.start_ps is None else each.start_ps / PS_PER_US,
            each.finish_ps / PS_PER_US,
            round(float(each.iterations), 3),
            each.alone_ps / PS_PER_US,
            None if each.together_ps is None else float(each.together_ps / PS_PER_US),
            None if each.slow_down is None else float(each.slow_down),
        )
        for each in run.jobs
    ]


def moment_rows(run: ClusterRun) -> list[tuple[object, ...]]:
    """Return a row of `MOMENT_COLUMNS` for each moment."""
    return [
        (
            each.time_ps / PS_PER_US,
            *(" ".join(each.running), " ".join(each.waiting)),
            *(run.node_count - each.free.free, each.free.free, each.free.largest),
            float(each.free.share),
        )
        for each in run.moments
    ]


def job_table(run: ClusterRun) -> Table:
    """Return all jobs as a table."""
    shown = (
        *("name", "nodes", "strategy", "arrival_us", "waiting_us", "finish_us"),
        *("alone_us", "together_us", "slow_down"),
    )
    numbers = shown[3:]
    columns = [
        name.replace("_us", ", us").replace("_", "-") + "#" * (name in numbers)
        for name in shown
    ]
    places = [JOB_COLUMNS.index(name) for name in shown]
    rows = [[_cell(row[at]) for at in places] for row in job_rows(run)]
    return terminal_table(columns, rows)


def _cell(value: object) -> object:
    """Return a value as the terminal shows it."""
    return f"{value:,.3f}" if isinstance(value, float) else value


def _ranges(nodes: Sequence[int]) -> str:
    """Return nodes as runs: 0-3 8."""
    ordered = sorted(nodes)
    breaks = [at for at, (one, two) in enumerate(pairwise(ordered), 1) if two > one + 1]
    ends: Iterable[tuple[int, int]] = pairwise([0, *breaks, len(ordered)])
    runs = [ordered[first:last] for first, last in ends if last > first]
    return " ".join(
        str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs
    )


_PS_PER_HOUR = 3600 * PS_PER_S


def comparison_table(plans: Mapping[str, TrainingPlan | str]) -> Table:
    """Return the best training on each fabric; a text stands for none."""
    columns = (
        "fabric",
        "k x l, batch",
        "iteration, us#",
        "samples/s#",
        "to accuracy, h#",
        "communication#",
        "partners#",
    )
    rows = [
        (name, "does not run", *[None] * 5)
        if isinstance(plan, str)
        else (name, *_cells(plan))
        for name, plan in plans.items()
    ]
    return terminal_table(columns, rows)


def strategy_table(plan: TrainingPlan) -> Table:
    """Return every strategy that was looked at."""
    columns = ("k#", "l#", "batch#", "estimate, us#", "replayed, us#", "remark")
    rows = []
    for each in plan.tried:
        chosen = "chosen" if each.strategy == plan.strategy else ""
        rows.append(
            (
                each.strategy.model_parallel,
                each.strategy.replicas,
                each.strategy.batch_size,
                _us(each.estimate_ps),
                _us(each.iteration_ps),
                each.why or chosen,
            )
        )
    return terminal_table(columns, rows)


def _cells(plan: TrainingPlan) -> tuple[object, ...]:
    needed = plan.time_to_accuracy_ps
    return (
        _strategy(plan),
        _us(plan.iteration_ps),
        f"{float(plan.samples_per_s):,.0f}",
        None if needed is None else f"{needed / _PS_PER_HOUR:,.2f}",
        f"{100 * float(plan.communication_share):.1f} %",
        plan.partners,
    )


def _strategy(plan: TrainingPlan) -> str:
    strategy = plan.strategy
    return f"{strategy.model_parallel} x {strategy.replicas}, {strategy.batch_size}"


def _us(time_ps: int | None) -> str | None:
    return None if time_ps is None else f"{time_ps / PS_PER_US:,.1f}"


_BYTES = "buffer_bytes"
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
            None if rates is None else f"{rates.algorithm_bytes_per_s / GIGA:,.2f}",
            None if rates is None else f"{rates.bus_bytes_per_s / GIGA:,.2f}",
        )

    def bus_gb_per_s(self) -> float | None:
        """Return the bus bandwidth in decimal gigabytes a second."""
        rates = self._rates()
        return None if rates is None else rates.bus_bytes_per_s / GIGA

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
