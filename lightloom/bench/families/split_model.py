"""Models cut into parts, to be placed."""

from __future__ import annotations

from typing import Literal, cast

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.instances.computation_table import computation_graph
from lightloom.instances.fabrics.ideal_switch import IdealSwitch
from lightloom.instances.instance import Instance
from lightloom.instances.workloads import default_training, model_named
from lightloom.training.placement.graph_split import split_graph

_BACKWARD = ("apart", "in-place")


def make(
    model: str, devices: int, distance: int, backward: str = "in-place"
) -> Instance:
    """Return the parts of a model with its default training.

    Parameters
    ----------
    model
        Model in the catalogue of workloads.
    devices, distance
        Devices in a ring, and how far down it data may go.
    backward
        Whether the backward pass is cut ``apart`` or stays ``in-place``.
    """
    if backward not in _BACKWARD:
        what, allowed = "unknown backward pass", ", ".join(_BACKWARD)
        raise InputError(what, found=backward, allowed=allowed)
    parts = split_graph(
        computation_graph(default_training(model_named(model))),
        devices=devices,
        distance=distance,
        backward=cast("Literal['apart', 'in-place']", backward),
    )
    name = f"{model} backward {backward} k={devices} distance={distance}"
    return Instance(IdealSwitch(nodes=devices), parts.workload, name)


FAMILY = Family("split-model", "the parts of a model, to be placed", make)
