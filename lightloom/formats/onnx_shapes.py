"""ONNX files with every shape known, for a given batch; needs the package onnx."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import FormatError, InputError
from lightloom.core.extras import require
from lightloom.formats.compression import open_reading

if TYPE_CHECKING:
    from pathlib import Path

Shape = tuple[int, ...]

MOST_MODEL_BYTES = 2**31 - 1
"""Larger messages cannot be decoded; larger weights are files of their own."""

_FLOATS = ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE")


@dataclass(frozen=True)
class ShapedGraph:
    """The graph of an ONNX file.

    `nodes`: its nodes, messages of the package onnx, in topological order. `shapes`:
    shape of every tensor that shape inference knows, by name. `weights`: parameters:
    tensors of floats that the file holds, scalars left out. `constants`: names of all
    tensors that the file holds.
    """

    nodes: tuple[Any, ...]
    shapes: dict[str, Shape]
    weights: dict[str, Shape]
    constants: frozenset[str]

    def elements(self, name: str, where: str) -> int:
        """Return the elements of a tensor.

        Raises `FormatError` if its shape is not known.
        """
        return math.prod(self.shape(name, where))

    def shape(self, name: str, where: str) -> Shape:
        """Return the shape of a tensor, or raise as `elements` does."""
        if name not in self.shapes:
            what = "shape inference does not find the shape of a tensor"
            fix = "export the model with fixed shapes"
            raise FormatError(what, where=where, found=name, fix=fix)
        return self.shapes[name]


def read_shaped(path: str | Path, batch_size: int) -> ShapedGraph:
    """Return the graph of an ONNX file, the first axis of its inputs the batch.

    Weights are not loaded, only their shapes.

    `batch_size`: samples in a batch, at least 1.

    Raises `MissingExtraError`: the package onnx is not installed; `InputError`: the
    file does not exist, or cannot be read; `FormatError`: it is too long or no ONNX
    file; an input has an axis of unknown length beside the batch; shapes contradict
    each other.
    """
    require("onnx", "onnx", "ONNX files", where=str(path))
    import onnx
    from google.protobuf.message import DecodeError
    from onnx.shape_inference import InferenceError

    try:
        with open_reading(path, most_bytes=MOST_MODEL_BYTES) as file:
            model = onnx.load_model_from_string(file.read())
    except OSError as problem:
        what = f"cannot read: {problem.strerror or problem}"
        raise InputError(what, where=str(path)) from None
    except InputError:
        raise
    except (DecodeError, ValueError):
        raise FormatError("not an ONNX file", where=str(path)) from None
    if not model.graph.node:
        raise FormatError("the graph has no node", where=str(path))
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    _fix_inputs(model.graph, held, batch_size, str(path))
    try:
        inferred = onnx.shape_inference.infer_shapes(
            model, strict_mode=True, data_prop=True
        )
    except UnicodeDecodeError:
        raise FormatError("a name is not UTF-8", where=str(path)) from None
    except InferenceError as problem:
        reason = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise FormatError(f"shapes do not fit: {reason}", where=str(path)) from None
    shapes = {name: tuple(tensor.dims) for name, tensor in held.items()}
    graph = inferred.graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(
            dim.HasField("dim_value") for dim in dims
        ):
            shapes[value.name] = tuple(dim.dim_value for dim in dims)
    floats = {onnx.TensorProto.DataType.Value(name) for name in _FLOATS}
    weights = {
        name: tuple(tensor.dims)
        for name, tensor in held.items()
        if tensor.data_type in floats and tensor.dims
    }
    return ShapedGraph(tuple(graph.node), shapes, weights, frozenset(held))


def _fix_inputs(
    graph: Any,  # noqa: ANN401  (a message of onnx)
    held: dict[str, Any],
    batch_size: int,
    path: str,
) -> None:
    """Set the first axis of every input to the batch, and forget inferred shapes."""
    del graph.value_info[:]
    for value in graph.input:
        if value.name in held:
            continue
        dims = value.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if axis == 0:
                dim.dim_value = batch_size
            elif not dim.HasField("dim_value"):
                what, fix = "an axis of unknown length", "export it with a fixed one"
                where = f"{path}: input {value.name}, axis {axis}"
                raise FormatError(what, where=where, found=dim.dim_param, fix=fix)
    for value in graph.output:
        # What was exported for another batch would contradict this one.
        value.type.tensor_type.ClearField("shape")
