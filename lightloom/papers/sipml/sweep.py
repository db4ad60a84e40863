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
    from collections.abc import Iterable, Iterator

    from lightloom.papers.figure_data import Row, Tell
    from lightloom.papers.sipml.setup import Trained
    from lightloom.training.planner import Planner
    from lightloom.training.training_plan import TrainingPlan

MOST_MODEL_PARALLEL = 16
"""The paper's degree: no replica of its figures has more devices."""

COLUMNS = (
    *("model", "gpus", "gbit_per_s", "fabric", "model_parallel", "replicas", "batch"),
    *("iteration_us", "minutes", "communication_share"),
)


def sweep(
    trained: Trained,
    gpus: int,
    rates: Iterable[int],
    tell: Tell,
    *,
    planner: Planner | None = None,
    only: tuple[str, ...] | None = None,
    data_parallel: bool = False,
) -> Iterator[Row]:
    """Yield the best training on each fabric at each rate, as a row of data."""
    planner, curve = planner or trained.planner(tell), trained.curve()
    for rate in rates:
        named = fabrics(gpus, rate)
        for name, fabric in named.items():
            if only is None or name in only:
                tell(f"{trained.model}, {gpus} GPUs, {rate} Gb/s, {name}")
                plan = best_plan(planner, fabric, curve, MOST_MODEL_PARALLEL)
                yield trained.model, gpus, rate, name, *_found(plan)
        if data_parallel:
            plan = best_plan(planner, named[FLAT], curve, 1)
            yield trained.model, gpus, rate, DATA_PARALLEL, *_found(plan)


def _found(plan: TrainingPlan | None) -> Row:
    """Return what is to be said of a training, nothing where none can be run."""
    if plan is None:
        return (None,) * 6
    strategy = plan.strategy
    return (
        *(strategy.model_parallel, strategy.replicas, strategy.batch_size),
        *(plan.iteration_ps / 1e6, minutes(plan), float(plan.communication_share)),
    )
