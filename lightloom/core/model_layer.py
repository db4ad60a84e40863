"""Layers of a model: FLOPs, elements and parameters, before any GPU is chosen."""

from __future__ import annotations

from lightloom.core.errors import InputError
from lightloom.core.record import CheckedRecord


class LayerCut(CheckedRecord, frozen=True):
    """A dimension that a layer may be cut along; see `lightloom.core.computation`.

    Parameters
    ----------
    dimension
        A key of `SPLIT_DIMENSIONS`.
    most_parts
        Length of the dimension, at least 1.
    whole_input
        Whether every part reads the whole input.
    divides_parameters
        Whether each part has a slice of the parameters, and not a copy.
    """

    dimension: str
    most_parts: int
    whole_input: bool = False
    divides_parameters: bool = False


class Layer(CheckedRecord, frozen=True):
    """What a layer does in one forward pass of the whole batch.

    Parameters
    ----------
    name
        Name, distinct in its graph.
    kind
        What it does, for example ``convolution``.
    flops
        Floating-point operations; a multiplication and an addition are two.
    parameters
        Trained parameters that belong to it.
    touched_parameters
        Parameters that it reads: `parameters`, others where a table is looked up or
        where it shares the parameters of another layer.
    lookup
        Whether it reads rows of a table for each sample, and so fewer of them where
        there are fewer samples.
    sparse
        Whether only the gradients of touched parameters exist, without optimiser
        state, as with embedding tables under plain stochastic gradient descent.
    input_elements, output_elements
        Elements that it reads, and that it makes and keeps for the backward pass.
    backward
        The work of a backward pass, FLOPs and traffic alike, in forward passes: 2 where
        the gradients of two factors are computed, of input and parameters for example;
        1 where gradients are only handed on.
    scratch_elements
        Elements that it writes, reads back, and keeps for the backward pass, but
        hands to nobody.
    cuts
        Ways to cut it, the usual one first; the first is always along the samples.
    profile
        Name in operator profiles, or empty.
    """

    name: str
    kind: str
    flops: int
    parameters: int
    touched_parameters: int
    input_elements: int
    output_elements: int
    cuts: tuple[LayerCut, ...]
    lookup: bool = False
    sparse: bool = False
    backward: int = 2
    scratch_elements: int = 0
    profile: str = ""

    def __post_init__(self) -> None:
        """Refuse negative amounts."""
        super().__post_init__()
        for key in (
            "flops",
            "parameters",
            "touched_parameters",
            "input_elements",
            "output_elements",
            "scratch_elements",
            "backward",
        ):
            if (found := getattr(self, key)) < 0:
                where = f"{self.name}.{key}"
                raise InputError("negative", where=where, found=found, allowed=">= 0")


class LayerGraph(CheckedRecord, frozen=True):
    """Layers, and what they hand to each other.

    Parameters
    ----------
    name
        Name of the model.
    batch_size
        Samples that the layers' amounts are for.
    layers
        Rows from 0.
    src, dst
        Rows at the ends of each edge; pairs are distinct.
    elements
        Elements of the tensor on each edge, for the whole batch.
    provenance
        Where the shapes come from.
    """

    name: str
    batch_size: int
    layers: tuple[Layer, ...]
    src: tuple[int, ...]
    dst: tuple[int, ...]
    elements: tuple[int, ...]
    provenance: str

    @property
    def parameters(self) -> int:
        """Trained parameters of all layers."""
        return sum(layer.parameters for layer in self.layers)

    def flops(self, *kinds: str) -> int:
        """Return the forward FLOPs of layers of the given kinds, all if none."""
        return sum(
            layer.flops for layer in self.layers if not kinds or layer.kind in kinds
        )
