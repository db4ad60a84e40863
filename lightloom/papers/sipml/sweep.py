"""Trainings on the fabrics of the SiP-ML paper over rates of a GPU: Figs 5 and 6."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.sipml.setup import (
    DATA_PARALLEL,
    FLAT,
    best_plan,
    fabrics,
    minutes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lightloom.papers.reproduction import Value
    from lightloom.papers.sipml.setup import Trained
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingPlan

MOST_MODEL_PARALLEL = 16
"""The paper's degree: no replica of its figures has more devices."""

COLUMNS = (
    *("model", "gpus", "gbit_per_s", "fabric", "model_parallel", "replicas", "batch"),
    *("iteration_us", "minutes", "communication_share"),
)

Plans = dict[tuple[str, int, str], "TrainingPlan | None"]
"""By (model, rate of a GPU in Gb/s, fabric)."""


def sweep(
    trained: Trained,
    gpus: int,
    rates: Iterable[int],
    tell: Callable[[str], None],
    *,
    planner: Planner | None = None,
    only: tuple[str, ...] | None = None,
    data_parallel: bool = False,
) -> Plans:
    """Return the best training on each fabric at each rate.

    Parameters
    ----------
    trained
        The model.
    gpus
        GPUs of every fabric.
    rates
        Rates of a GPU in Gb/s.
    tell
        Told what is being done.
    planner
        Of the model, with what it has placed so far; by default a new one.
    only
        Fabrics, by the paper's names; by default all.
    data_parallel
        Whether to add data parallelism alone on the ideal switch.
    """
    planner, curve = planner or trained.planner(tell), trained.curve()
    plans: Plans = {}
    for rate in rates:
        named = fabrics(gpus, rate)
        for name, fabric in named.items():
            if only is not None and name not in only:
                continue
            tell(f"{trained.model}, {gpus} GPUs, {rate} Gb/s, {name}")
            plans[trained.model, rate, name] = best_plan(
                planner, fabric, curve, MOST_MODEL_PARALLEL
            )
        if data_parallel:
            plans[trained.model, rate, DATA_PARALLEL] = best_plan(
                planner, named[FLAT], curve, 1
            )
    return plans


def rows(plans: Plans, gpus: int) -> Iterable[tuple[Value, ...]]:
    """Yield a row of data for each training that can be run."""
    for (model, rate, fabric), plan in plans.items():
        if plan is None:
            yield model, gpus, rate, fabric, *[None] * 6
            continue
        yield (
            model,
            gpus,
            rate,
            fabric,
            plan.strategy.model_parallel,
            plan.strategy.replicas,
            plan.strategy.batch_size,
            plan.iteration_ps / 1e6,
            minutes(plan),
            float(plan.communication_share),
        )


def curve_of(plans: Plans, model: str, fabric: str) -> dict[int, float]:
    """Return minutes by rate of a fabric, where it can be run."""
    found = {
        rate: minutes(plan)
        for (of, rate, name), plan in plans.items()
        if of == model and name == fabric and plan is not None
    }
    return dict(sorted(found.items()))
