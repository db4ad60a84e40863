"""ONNX graphs as layers: FLOPs, elements and parameters from the shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import FormatError
from lightloom.core.model_layer import Layer, LayerCut, LayerGraph
from lightloom.formats.onnx_shapes import read_shaped

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.formats.onnx_shapes import ShapedGraph

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
    """
    shaped = read_shaped(path, batch_size)
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
