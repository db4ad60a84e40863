"""Trainings: a model by name, and what it is trained with."""

from __future__ import annotations

import msgspec

from lightloom.core.record import CheckedRecord

DEFAULT_GPU = "a100"
DEFAULT_PRECISION = "fp16"
DEFAULT_OPTIMISER = "adam"


class Training(CheckedRecord, frozen=True):
    """What is trained: the table ``[computation]``, every default filled in.

    Parameters
    ----------
    batch_size
        Samples of one iteration over all GPUs.
    gpu
        Name of the GPU that times are for.
    precision
        Precision of parameters and activations.
    optimiser
        Name of the optimiser, which decides on the memory of a parameter.
    model
        Name of a model of the catalogue; ``None`` where `onnx` is given.
    onnx
        Path of an ONNX file that holds the model.
    parameters
        Shape parameters of the named model.
    profile
        Path of a FlexFlow operator profile with measured times; ``None`` where the
        times are those of the roofline model.
    """

    batch_size: int
    gpu: str
    precision: str
    optimiser: str
    model: str | None = None
    onnx: str | None = None
    parameters: dict[str, int] = msgspec.field(default_factory=dict)
    profile: str | None = None
