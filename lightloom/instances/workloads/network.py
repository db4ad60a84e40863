"""Networks: layers that are added one after another, with their tensors' shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lightloom.core.errors import InputError
from lightloom.core.model_layer import Layer, LayerCut, LayerGraph


@dataclass(frozen=True)
class Tensor:
    """What a layer hands on.

    Attributes
    ----------
    row
        The layer that makes it; ``None`` for an input of the network.
    shape
        Lengths for one sample: (channels, height, width) of an image, (positions,
        channels) of a sequence, (channels,) of a vector.
    """

    row: int | None
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements for one sample."""
        return math.prod(self.shape)


class LayerNetwork:
    """A layer graph while it grows.

    Parameters
    ----------
    batch_size
        Samples of an iteration, at least 1.

    Raises
    ------
    InputError
        If it is not positive.
    """

    def __init__(self, batch_size: int) -> None:
        if batch_size < 1:
            what, allowed = "invalid batch size", "1 or more"
            where = "batch_size"
            raise InputError(what, where=where, found=batch_size, allowed=allowed)
        self.batch_size = batch_size
        self._layers: list[Layer] = []
        self._edges: dict[tuple[int, int], int] = {}

    def add(
        self,
        name: str,
        kind: str,
        inputs: tuple[Tensor, ...],
        shape: tuple[int, ...],
        *,
        cuts: tuple[LayerCut, ...] = (),
        flops: int = 0,
        parameters: int = 0,
        touched_parameters: int | None = None,
        lookup: bool = False,
        sparse: bool = False,
        backward: int = 2,
        scratch_elements: int = 0,
        profile: str = "",
    ) -> Tensor:
        """Add a layer, and return what it makes.

        Parameters
        ----------
        name
            Name of the layer, distinct in its network.
        kind
            What it does, for example ``convolution``.
        inputs
            Tensors that it reads; one that it reads twice stands here twice.
        shape
            Shape of what it makes, for one sample; see `Tensor`.
        cuts
            Ways to cut it beside that along the samples, which every layer has. Those
            into one part are left out.
        flops, scratch_elements
            As in `Layer`, but for one sample.
        parameters, lookup, sparse, backward, profile
            As in `Layer`.
        touched_parameters
            As in `Layer`, but those of one sample where `lookup` is set; by default
            `parameters`.
        """
        row, batch = len(self._layers), self.batch_size
        made = Tensor(row, shape)
        touched = parameters if touched_parameters is None else touched_parameters
        self._layers.append(
            Layer(
                name=name,
                kind=kind,
                flops=flops * batch,
                parameters=parameters,
                touched_parameters=touched * (batch if lookup else 1),
                input_elements=sum(tensor.elements for tensor in inputs) * batch,
                output_elements=made.elements * batch,
                cuts=(
                    LayerCut("sample", batch),
                    *(cut for cut in cuts if cut.most_parts > 1),
                ),
                lookup=lookup,
                sparse=sparse,
                backward=backward,
                scratch_elements=scratch_elements * batch,
                profile=profile,
            )
        )
        for tensor in inputs:
            if tensor.row is not None:
                # A layer that reads one tensor twice is sent it once.
                self._edges[tensor.row, row] = tensor.elements * batch
        return made

    def graph(self, name: str, provenance: str) -> LayerGraph:
        """Return the layers so far as a graph.

        Parameters
        ----------
        name
            Name of the graph.
        provenance
            Where its numbers come from, for people.
        """
        edges = sorted(self._edges)
        return LayerGraph(
            name=name,
            batch_size=self.batch_size,
            layers=tuple(self._layers),
            src=tuple(src for src, _ in edges),
            dst=tuple(dst for _, dst in edges),
            elements=tuple(self._edges[edge] for edge in edges),
            provenance=provenance,
        )
