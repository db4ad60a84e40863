"""What a training costs to cut and place, to set circuits for, and to replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.bench.measures import Measure
from lightloom.core.training import Training
from lightloom.replay.workload import replay_iteration
from lightloom.training.fabric_networks import network_for, ports_of
from lightloom.training.iteration import traffic, training_iteration
from lightloom.training.node_layout import layout
from lightloom.training.replica import place_replica
from lightloom.training.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import Instance


def run(
    instance: Instance,
    seed: int,
    model: str = "transformer-350m",
    model_parallel: int = 1,
    *,
    whole: bool = False,
) -> Iterator[int]:
    """Cut and place a model, set up the network, and replay an iteration.

    Parameters
    ----------
    instance
        Names the fabric; all its nodes train.
    seed
        Not used.
    model
        Model in the catalogue of workloads, on V100s in fp16, a sample a replica.
    model_parallel
        Devices of a replica.
    whole
        Whether all replicas are replayed, not a few that stand for them.
    """
    del seed
    fabric = instance.fabric
    replicas = fabric.node_count // model_parallel
    training = Training(
        batch_size=replicas,
        gpu="v100",
        precision="fp16",
        optimiser="adam",
        model=model,
    )
    strategy = Strategy(model_parallel, replicas, replicas)
    ports = ports_of(fabric)
    replica = place_replica(training, strategy.local_batch, model_parallel, ports=ports)
    yield len(replica.device)
    laid = layout(fabric, strategy, whole=whole)
    iteration = training_iteration(replica, laid.nodes, laid.fabric.node_count)
    collectives = laid.collectives()
    demand = traffic(iteration, collectives)
    network = network_for(laid.fabric, demand, collectives, "one-shot")
    yield len(iteration.operations)
    yield replay_iteration(iteration, network).iteration_ps


MEASURE = Measure(
    "training-replay",
    "cut and place a model, set up its circuits, replay an iteration",
    "parts, operations, ps",
    ("place", "set-up", "replay"),
    run,
)
