"""``[computation]`` of an instance file: a model to train, and on which GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from lightloom.core.errors import InputError, placed
from lightloom.core.record_conversion import convert
from lightloom.core.training import (
    DEFAULT_GPU,
    DEFAULT_OPTIMISER,
    DEFAULT_PRECISION,
    Training,
)
from lightloom.formats.flexflow_profile import read_flexflow_profile
from lightloom.formats.onnx_graph import read_onnx
from lightloom.instances.gpus import gpu_named
from lightloom.instances.measured_times import with_measurements
from lightloom.instances.roofline import RooflineGpu, roofline
from lightloom.instances.workloads import layer_graph, model_named

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.computation import ComputationGraph
    from lightloom.core.model_layer import LayerGraph

_Count = Annotated[int, Meta(ge=1, le=2**40)]


class _ComputationTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table as a person writes it: one of `model` and `onnx`."""

    model: str | None = None
    onnx: str | None = None
    batch_size: _Count | None = None
    gpu: str = DEFAULT_GPU
    precision: str = DEFAULT_PRECISION
    optimiser: str = DEFAULT_OPTIMISER
    parameters: dict[str, int] = {}
    profile: str | None = None


def read_computation(table: dict[str, object], name: str, folder: Path) -> Training:
    """Return the training of an instance table, every default filled in.

    Raises `InputError`: unknown key; not one of a model and an ONNX file; anything that
    `computation_graph` refuses, as the graph is made once to be sure of it.
    """
    where = f"{name}: computation"
    raw = convert(table, _ComputationTable, where=where)
    if (raw.model is None) == (raw.onnx is None):
        what, allowed = "a computation is given in one way", "model, or onnx"
        raise InputError(what, where=where, found=sorted(table), allowed=allowed)
    if raw.onnx is not None and raw.batch_size is None:
        what, fix = "an ONNX file does not say the batch", "set batch_size"
        raise InputError(what, where=where, fix=fix)
    if raw.onnx is not None and raw.parameters:
        what = "an ONNX file has no shape parameters"
        raise InputError(what, where=f"{where}.parameters", found=raw.parameters)
    training = _filled(raw, where, folder)
    placed(lambda: computation_graph(training), where)
    return training


def computation_graph(training: Training) -> ComputationGraph:
    """Return what a training computes in an iteration.

    The times are those of the roofline model, or measured where there is a profile.

    Raises `InputError`: an unknown model, shape parameter, GPU, precision or optimiser;
    a file that cannot be read; a profile that lacks an operation.
    """
    machine = RooflineGpu(
        gpu_named(training.gpu), training.precision, training.optimiser
    )
    graph = roofline(_layers(training), machine)
    if training.profile is None:
        return graph
    profile = read_flexflow_profile(training.profile)
    return with_measurements(graph, profile, machine.element_bytes)


def _layers(training: Training) -> LayerGraph:
    if training.onnx is not None:
        return read_onnx(training.onnx, training.batch_size)
    model = model_named(str(training.model))
    return layer_graph(model, training.batch_size, training.parameters)


def _filled(raw: _ComputationTable, where: str, folder: Path) -> Training:
    """Return the training of a table, with the model's own batch and shapes."""
    batch_size, parameters = raw.batch_size, raw.parameters
    if raw.model is not None:
        name = raw.model
        model = placed(lambda: model_named(name), where)
        parameters = {**model.parameters, **raw.parameters}
        batch_size = model.batch_size if batch_size is None else batch_size
    paths = {
        key: None if path is None else str((folder / path).resolve())
        for key, path in (("onnx", raw.onnx), ("profile", raw.profile))
    }
    return Training(
        batch_size=batch_size or 1,
        gpu=raw.gpu,
        precision=raw.precision,
        optimiser=raw.optimiser,
        model=raw.model,
        onnx=paths["onnx"],
        parameters=parameters,
        profile=paths["profile"],
    )
