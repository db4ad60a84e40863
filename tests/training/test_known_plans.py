"""Plans of real models that are at least as good as strategies found by hand."""

from __future__ import annotations

import pytest

from lightloom.core.training import Training
from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.training.planner import Planner
from lightloom.training.training_plan import TrainingRequest

RACK = Lightpath(rows=4, cols=6)


def switches(nodes: int) -> Ocs:
    """Return sixteen switches with 1 Tb/s a node."""
    return Ocs(nodes=nodes, switches=16, bits_per_second_per_node=10**12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fabric", "model", "batch", "by_hand", "most_us"),
    [
        (RACK, "resnet-50", 100, (1, 20), 863),
        (switches(24), "bert-large", 7, (1, 7), 10_136),
        (switches(24), "bert-large", 60, (1, 20), 12_415),
        (switches(12), "bert-large", 48, (1, 4), 21_399),
    ],
)
def test_no_worse_than_by_hand(
    fabric: Lightpath | Ocs,
    model: str,
    batch: int,
    by_hand: tuple[int, int],
    most_us: int,
) -> None:
    """With idle nodes and uneven batches, on circuits that stay."""
    planner = Planner(
        Training(
            batch_size=batch,
            gpu="h100",
            precision="fp16",
            optimiser="adam",
            model=model,
            parameters={},
        )
    )
    k, replicas = by_hand
    named = TrainingRequest(
        circuits="critical-path", model_parallel=k, replicas=replicas
    )
    plan = planner.plan(fabric, TrainingRequest(circuits="critical-path"))
    assert plan.iteration_ps <= planner.plan(fabric, named).iteration_ps
    assert plan.iteration_ps <= most_us * PS_PER_US
