"""ONNX graphs as layers: FLOPs, elements and parameters from the shapes."""

from __future__ import annotations

import functools
import math
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightloom.core.errors import FormatError, InputError
from lightloom.core.extras import require
from lightloom.core.model_layer import Layer, LayerCut, LayerGraph
from lightloom.formats.compression import open_reading

_VIEWS = {"Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"}
"""Nodes that compute nothing in training's sense: their output is their input."""

_SHAPE_ARITHMETIC = {"Constant", "ConstantOfShape", "Range", "Shape", "Size"}
_KINDS = {
    "BatchNormalization": "normalisation",
    "Conv": "convolution",
    "Gemm": "dense",
    "LayerNormalization": "normalisation",
}
_NORMALISED = {"BatchNormalization": 4, "LayerNormalization": 5}
"""FLOPs of an element."""

_HANDED_ON = {
    "Add",
    "AveragePool",
    "Concat",
    "GlobalAveragePool",
    "MaxPool",
    "Transpose",
}
"""Nodes whose backward pass only hands gradients on."""

_RUNNING = (3, 4)
"""Inputs of a batch normalisation that are statistics, and not trained."""


def read_onnx(path: str | Path, batch_size: int) -> LayerGraph:
    """Return the layers of an ONNX file for a batch; needs the package onnx.

    The first axis of every input is the batch. FLOPs are counted for convolutions and
    matrix products; other nodes do one for each element, which their traffic
    outweighs. Parameters are the tensors of floats that the file holds; what several
    nodes share belongs to the first. Views (reshapes, casts, dropout) and the
    arithmetic of shapes are no layers.

    `batch_size`: samples, 1 or more; set for the first axis of every input.

    Raises `InputError`: the package onnx is missing, or the file cannot be read;
    `FormatError`: it is no ONNX file; a shape is not known; it holds nothing that
    computes.

    A file is decoded once, and once more for each batch, as long as it stays the same.
    """
    version = _version(path)
    if version is None:
        return _layers.__wrapped__(path, batch_size, None)
    return _layers(path, batch_size, version)


def _version(path: str | Path) -> tuple[int, ...] | None:
    """Return what changes when a file does; ``None`` for what is no plain file."""
    try:
        known = Path(path).stat()
    except (OSError, ValueError):
        return None  # reading it says what is wrong
    if not stat.S_ISREG(known.st_mode):
        return None
    return known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns


@functools.lru_cache(maxsize=64)  # a strategy has a batch of its own
def _layers(
    path: str | Path, batch_size: int, version: tuple[int, ...] | None
) -> LayerGraph:
    """Return what `read_onnx` does of one version of a file."""
    shaped = read_shaped(path, batch_size, version)
    reader = _Reader(shaped, str(path), batch_size)
    for node in shaped.nodes:
        reader.read(node)
    if not reader.layers:
        raise FormatError("the graph computes nothing", where=str(path))
    edges = sorted(reader.edges)
    return LayerGraph(
        name=str(path),
        batch_size=batch_size,
        layers=tuple(reader.layers),
        src=tuple(src for src, _ in edges),
        dst=tuple(dst for _, dst in edges),
        elements=tuple(reader.edges[edge] for edge in edges),
        provenance=f"ONNX file {path}",
    )


class _Reader:
    """Turns nodes into layers, one after another."""

    def __init__(self, shaped: ShapedGraph, path: str, batch_size: int) -> None:
        self.shaped, self.path, self.batch_size = shaped, path, batch_size
        self.layers: list[Layer] = []
        self.edges: dict[tuple[int, int], int] = {}
        self.maker: dict[str, int] = {}
        self.constants = set(shaped.constants)
        self.counted: set[str] = set()
        self.names: set[str] = set()
        self.alias: dict[str, str] = {}

    def read(self, node: Any) -> None:  # noqa: ANN401  (a message of onnx)
        """Add the layer of a node, if it is one."""
        inputs = [self.alias.get(name, name) for name in node.input if name]
        outputs = [name for name in node.output if name]
        if not outputs:
            raise FormatError("a node without an output", where=self._where(node))
        if node.op_type in _SHAPE_ARITHMETIC or all(
            name in self.constants for name in inputs
        ):
            self.constants.update(outputs)
            return
        if node.op_type in _VIEWS:
            self.alias[outputs[0]] = inputs[0]
            return
        row = len(self.layers)
        self.layers.append(self._layer(node, inputs, outputs))
        for name in inputs:
            if name in self.maker:
                edge = self.maker[name], row
                elements = self.shaped.elements(name, self._where(node))
                self.edges[edge] = self.edges.get(edge, 0) + elements
        self.maker.update((name, row) for name in outputs)

    def _layer(
        self,
        node: Any,  # noqa: ANN401
        inputs: list[str],
        outputs: list[str],
    ) -> Layer:
        where, op = self._where(node), node.op_type
        made = self.shaped.elements(outputs[0], where)
        tensors = [name for name in inputs if name not in self.constants]
        held = self._trained(node, inputs)
        lookup = op == "Gather" and inputs[0] in held
        touched = sum(math.prod(self.shaped.weights[name]) for name in held)
        own = [name for name in held if name not in self.counted]
        self.counted.update(own)
        return Layer(
            name=self._name(node),
            kind="embedding" if lookup else self._kind(node, inputs),
            flops=self._flops(node, made),
            parameters=sum(math.prod(self.shaped.weights[name]) for name in own),
            touched_parameters=made if lookup else touched,
            input_elements=sum(self.shaped.elements(name, where) for name in tensors),
            output_elements=made + sum(map(self._known, outputs[1:])),
            cuts=self._cuts(node, outputs[0], weighted=bool(held)),
            lookup=lookup,
            backward=1 if op in _HANDED_ON else 2,
        )

    def _known(self, name: str) -> int:
        """Return the elements of a further output, 0 where it is left open."""
        return math.prod(self.shaped.shapes[name]) if name in self.shaped.shapes else 0

    def _trained(self, node: Any, inputs: list[str]) -> list[str]:  # noqa: ANN401
        """Return the distinct parameters among the inputs of a node."""
        statistics = _RUNNING if node.op_type == "BatchNormalization" else ()
        held = [
            name
            for number, name in enumerate(inputs)
            if name in self.shaped.weights and number not in statistics
        ]
        return list(dict.fromkeys(held))

    def _kind(self, node: Any, inputs: list[str]) -> str:  # noqa: ANN401
        if node.op_type == "MatMul":
            weighted = any(name in self.shaped.weights for name in inputs)
            return "dense" if weighted else "attention"
        op: str = node.op_type
        return _KINDS.get(op, op.lower())

    def _flops(self, node: Any, made: int) -> int:  # noqa: ANN401
        """Return the FLOPs of a node that makes `made` elements."""
        where, op = self._where(node), node.op_type
        if op == "Conv":
            # The weight is (channels out, channels in of a group, window...).
            window = self.shaped.shape(node.input[1], where)[1:]
            return 2 * made * math.prod(window)
        if op in {"Gemm", "MatMul"}:
            first = self.shaped.shape(node.input[0], where)
            turned = any(item.name == "transA" and item.i for item in node.attribute)
            return 2 * made * first[0 if turned else -1]
        return made * _NORMALISED.get(op, 1)

    def _cuts(self, node: Any, output: str, *, weighted: bool) -> tuple[LayerCut, ...]:  # noqa: ANN401
        """Return the ways to cut a node; along the samples only what has them."""
        shape = self.shaped.shape(output, self._where(node))
        has_batch = bool(shape) and shape[0] % self.batch_size == 0
        cuts = [LayerCut("sample", self.batch_size if has_batch else 1)]
        product = node.op_type in {"Conv", "Gemm", "MatMul"} and weighted
        if node.op_type == "Conv" and len(shape) > 2:
            cuts.append(LayerCut("spatial", shape[2]))
        if product:
            width = shape[1] if node.op_type == "Conv" else shape[-1]
            cuts.append(
                LayerCut("channel", width, whole_input=True, divides_parameters=True)
            )
        elif node.op_type == "MatMul" and len(shape) > 3:
            cuts.append(LayerCut("channel", shape[1]))
        return tuple(
            cut for cut in cuts if cut.dimension == "sample" or cut.most_parts > 1
        )

    def _name(self, node: Any) -> str:  # noqa: ANN401
        """Return a name of its own: the node's, or its kind and row."""
        name: str = node.name or f"{node.op_type.lower()}-{len(self.layers)}"
        while name in self.names:
            name += "'"
        self.names.add(name)
        return name

    def _where(self, node: Any) -> str:  # noqa: ANN401
        made = node.output[0] if node.output else ""
        return f"{self.path}: {node.op_type} {node.name or made}"


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


_MOST_KEPT = 2**10
"""Elements of a tensor that shape inference may look at: shapes, axes and scales."""


@functools.lru_cache(maxsize=1)
def _without_weights(path: str | Path, version: tuple[int, ...] | None) -> bytes:
    """Return a file with the dimensions of its large tensors, and without their data.

    `version`: of the file: another one is read again.
    """
    del version
    import onnx
    from google.protobuf.message import DecodeError

    try:
        with open_reading(path, most_bytes=MOST_MODEL_BYTES) as file:
            model = onnx.load_model_from_string(file.read())
    except InputError:
        raise
    except (DecodeError, ValueError):
        raise FormatError("not an ONNX file", where=str(path)) from None
    data = [
        field
        for field in onnx.TensorProto.DESCRIPTOR.fields_by_name
        if "_data" in field
    ]
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) > _MOST_KEPT:
            for field in data:
                tensor.ClearField(field)
    stripped: bytes = model.SerializeToString()
    return stripped


def read_shaped(
    path: str | Path, batch_size: int, version: tuple[int, ...] | None = None
) -> ShapedGraph:
    """Return the graph of an ONNX file, the first axis of its inputs the batch.

    Weights are not kept, only their shapes.

    `batch_size`: samples in a batch, at least 1. `version`: of the file, which is
    decoded once for all batches; again each time where ``None``.

    Raises `MissingExtraError`: the package onnx is not installed; `InputError`: the
    file does not exist, or cannot be read; `FormatError`: it is too long or no ONNX
    file; an input has an axis of unknown length beside the batch; shapes contradict
    each other.
    """
    require("onnx", "onnx", "ONNX files", where=str(path))
    import onnx
    from onnx.shape_inference import InferenceError

    decode = _without_weights if version else _without_weights.__wrapped__
    model = onnx.load_model_from_string(decode(path, version))
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
