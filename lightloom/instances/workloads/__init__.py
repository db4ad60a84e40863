"""Models to train, by name: one family a file, found by walking this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.errors import InputError, nearest
from lightloom.core.training import (
    DEFAULT_GPU,
    DEFAULT_OPTIMISER,
    DEFAULT_PRECISION,
    Training,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.core.model_layer import LayerGraph
    from lightloom.instances.workloads.layers import LayerNetwork


@dataclass(frozen=True)
class WorkloadModel:
    """A model to train; each module here offers one, or several, as ``MODEL``.

    Attributes
    ----------
    name
        Name, as in ``[computation] model``.
    source
        Where its shapes come from, in words.
    parameters
        Shape parameters and their defaults, all integers of at least 0.
    batch_size
        Samples of an iteration where an instance does not say.
    build
        Adds the layers to an empty network, given every shape parameter.
    """

    name: str
    source: str
    parameters: Mapping[str, int]
    batch_size: int
    build: Callable[[LayerNetwork, Mapping[str, int]], None]


MODELS: Catalogue[WorkloadModel] = Catalogue(
    __name__, attribute="MODEL", noun="model", group="lightloom.models"
)
"""Every model to train, by name."""


def model_named(name: str) -> WorkloadModel:
    """Return a model by name.

    Raises `InputError` if there is none of that name.
    """
    return MODELS.get(name)


def default_training(model: WorkloadModel) -> Training:
    """Return the training of a model at its own batch, on an A100, with Adam."""
    return Training(
        batch_size=model.batch_size,
        gpu=DEFAULT_GPU,
        precision=DEFAULT_PRECISION,
        optimiser=DEFAULT_OPTIMISER,
        model=model.name,
        parameters=dict(model.parameters),
    )


def layer_graph(
    model: WorkloadModel,
    batch_size: int | None = None,
    parameters: Mapping[str, int] | None = None,
) -> LayerGraph:
    """Return the layers of a model for a batch.

    `batch_size`: samples, at least 1; the model's own where it is ``None``.
    `parameters`: shape parameters that differ from the defaults.

    Raises `InputError`: an unknown shape parameter, one below 0, shapes that do not fit
    each other, or no sample.
    """
    from lightloom.instances.workloads.layers import LayerNetwork

    given = dict(parameters or {})
    for key, value in given.items():
        if key not in model.parameters:
            raise InputError(
                f"unknown shape parameter {key!r} of {model.name}",
                allowed=", ".join(model.parameters) or "none",
                fix=nearest(key, model.parameters),
            )
        if value < 0:
            what = "a shape parameter is negative"
            raise InputError(what, where=key, found=value, allowed="0 or more")
    network = LayerNetwork(model.batch_size if batch_size is None else batch_size)
    model.build(network, {**model.parameters, **given})
    changed = ", ".join(f"{key} {value}" for key, value in sorted(given.items()))
    source = f"{model.source}; {changed}" if changed else model.source
    return network.graph(model.name, source)
