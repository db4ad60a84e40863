"""What commands found, as tables: bounds, rounds of a replay, jobs, trainings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_S, PS_PER_US, format_bytes, format_ps
from lightloom.report.tables import terminal_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.table import Table

    from lightloom.core.certificate import Certificate, Number
    from lightloom.replay import Timeline
    from lightloom.replay.timeline import StepTime
    from lightloom.training.job_run import ClusterRun
    from lightloom.training.training_plan import TrainingPlan


_COLUMNS = ("kind", "bound#", "witness")
_SHOWN = 8
_FEW_KEYS = 3


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
