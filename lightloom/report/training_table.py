"""Trainings as tables: one fabric a row, or one strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.units import PS_PER_S, PS_PER_US
from lightloom.report.tables import Column, terminal_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from lightloom.training.training_plan import TrainingPlan

_PS_PER_HOUR = 3600 * PS_PER_S


def comparison_table(plans: Mapping[str, TrainingPlan | str]) -> Table:
    """Return the best training on each fabric; a text stands for none."""
    columns = (
        Column("fabric"),
        Column("k x l, batch"),
        Column("iteration, us", number=True),
        Column("samples/s", number=True),
        Column("to accuracy, h", number=True),
        Column("communication", number=True),
        Column("partners", number=True),
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
    columns = (
        Column("k", number=True),
        Column("l", number=True),
        Column("batch", number=True),
        Column("estimate, us", number=True),
        Column("replayed, us", number=True),
        Column("remark"),
    )
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
