"""Layers that models are made of: on vectors, on sequences, on images."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lightloom.core.errors import InputError
from lightloom.core.model_layer import Layer, LayerCut, LayerGraph


def dense(network: LayerNetwork, name: str, source: Tensor, width: int) -> Tensor:
    """Add a product with a matrix: ``width`` channels from the last axis of `source`.

    On a sequence it is the same product at every position. A bias is added to each
    channel. An activation function is fused with it and not counted.

    Parameters
    ----------
    network
        The network that grows by this layer.
    name
        Name of the layer, distinct in its network.
    source
        A vector of shape (channels,), or a sequence of shape (positions, channels).
    width
        Channels that it makes, at least 1.
    """
    *positions, fan_in = source.shape
    count = source.elements // fan_in
    cuts = [LayerCut("channel", width, whole_input=True, divides_parameters=True)]
    if positions:
        cuts.append(LayerCut("spatial", positions[0]))
    return network.add(
        name,
        "dense",
        (source,),
        (*positions, width),
        cuts=tuple(cuts),
        flops=2 * count * fan_in * width,
        parameters=(fan_in + 1) * width,
        profile=f"Dense_{fan_in}_{width}",
    )


def embedding(
    network: LayerNetwork,
    name: str,
    rows: int,
    width: int,
    *,
    positions: int | None = None,
    sparse: bool = False,
) -> Tensor:
    """Add a table of `rows` vectors, looked up once per sample, or per position.

    Cut along the channels, each part has some columns of all rows.

    `positions`: look-ups for one sample; ``None`` for one, which makes a vector and no
    sequence.
    """
    shape = (width,) if positions is None else (positions, width)
    return network.add(
        name,
        "embedding",
        (),
        shape,
        cuts=(LayerCut("channel", width, whole_input=True, divides_parameters=True),),
        parameters=rows * width,
        touched_parameters=(positions or 1) * width,
        lookup=True,
        sparse=sparse,
        profile=f"Embed_{rows}x{width}",
    )


def add(network: LayerNetwork, name: str, first: Tensor, second: Tensor) -> Tensor:
    """Add a sum, element by element."""
    return _element_by_element(network, name, "add", (first, second), "31")


def multiply(network: LayerNetwork, name: str, first: Tensor, second: Tensor) -> Tensor:
    """Add a product, element by element."""
    return _element_by_element(network, name, "multiply", (first, second), "32")


def _element_by_element(
    network: LayerNetwork,
    name: str,
    kind: str,
    inputs: tuple[Tensor, Tensor],
    code: str,
) -> Tensor:
    shape = inputs[0].shape
    # Channels are the last axis of sequences and vectors, the first of images.
    cuts = [LayerCut("channel", shape[0] if len(shape) == 3 else shape[-1])]
    if len(shape) > 1:
        cuts.append(LayerCut("spatial", shape[1] if len(shape) == 3 else shape[0]))
    return network.add(
        name,
        kind,
        inputs,
        shape,
        cuts=tuple(cuts),
        flops=inputs[0].elements,
        backward=1 if kind == "add" else 2,
        profile=f"ElementBinary_{code}",
    )


def concatenate(network: LayerNetwork, name: str, inputs: tuple[Tensor, ...]) -> Tensor:
    """Add a concatenation along the channels: the last axis, of images the first.

    `inputs`: tensors, at least one, whose shapes differ in the channels only.
    """
    first = inputs[0].shape
    axis = 0 if len(first) == 3 else -1
    width = sum(tensor.shape[axis] for tensor in inputs)
    shape = (width, *first[1:]) if axis == 0 else (*first[:-1], width)
    cuts = (LayerCut("spatial", first[1]),) if len(first) == 3 else ()
    return network.add(
        name, "concatenate", inputs, shape, cuts=cuts, backward=1, profile="Concat_1"
    )


def _refuse_heads(name: str, heads: int, channels: int) -> None:
    """Raise if heads cannot share the channels equally."""
    if heads < 1 or channels % heads:
        what, allowed = "heads do not divide the channels", f"divisors of {channels}"
        raise InputError(what, where=name, found=heads, allowed=allowed)


def layer_norm(network: LayerNetwork, name: str, source: Tensor) -> Tensor:
    """Add a normalisation over the channels of each position.

    `source`: a sequence, of shape (positions, channels).
    """
    positions, channels = source.shape
    return network.add(
        name,
        "normalisation",
        (source,),
        source.shape,
        cuts=(LayerCut("spatial", positions),),
        flops=5 * source.elements,
        parameters=2 * channels,
    )


def attention(network: LayerNetwork, name: str, source: Tensor, heads: int) -> Tensor:
    """Add the attention of queries, keys and values that stand side by side.

    `source` has three times the channels of the output. FLOPs are those of the two
    products, of all positions with all, and the scores are kept for the backward
    pass; the softmax between is memory traffic alone.

    `source`: queries, keys and values, of shape (positions, 3 * channels). `heads`:
    heads, at least 1; a divisor of the channels.

    Raises `InputError` if the heads cannot share the channels equally.
    """
    positions, tripled = source.shape
    channels = tripled // 3
    _refuse_heads(name, heads, channels)
    return network.add(
        name,
        "attention",
        (source,),
        (positions, channels),
        cuts=(LayerCut("channel", heads),),
        flops=4 * positions * positions * channels,
        scratch_elements=heads * positions * positions,
    )


def joint_attention(
    network: LayerNetwork, name: str, source: Tensor, memory: Tensor, heads: int
) -> Tensor:
    """Add attention with its four products with matrices, without bias, as one layer.

    Queries come from `source`, keys and values from `memory`, which are as long. This
    is the operator of FlexFlow, which reads three tensors.

    `source`: what queries come from, of shape (positions, channels). `memory`: what
    keys and values come from, of the same shape. `heads`: heads, at least 1; a divisor
    of the channels.

    Raises `InputError` if the heads cannot share the channels equally.
    """
    positions, channels = source.shape
    _refuse_heads(name, heads, channels)
    products = 8 * positions * channels**2 + 4 * positions**2 * channels
    return network.add(
        name,
        "attention",
        (source, memory, memory),
        source.shape,
        cuts=(LayerCut("channel", heads, whole_input=True, divides_parameters=True),),
        flops=products,
        parameters=4 * channels**2,
        scratch_elements=heads * positions * positions,
        profile=f"MultiHeadAttention_{channels}{heads}",
    )


def block(
    network: LayerNetwork, name: str, source: Tensor, heads: int, *, norm_first: bool
) -> Tensor:
    """Add a block of the transformer: attention, then two dense layers, 4 times wide.

    `source`: a sequence, of shape (positions, channels). `heads`: heads, at least 1; a
    divisor of the channels. `norm_first`: whether the normalisations stand before the
    layers, as in GPT-2 and Megatron, and not after their sums. Both have the same
    parameters and FLOPs.

    Raises `InputError` if the heads cannot share the channels equally.
    """
    channels = source.shape[-1]

    def attended(tensor: Tensor) -> Tensor:
        joint = dense(network, f"{name}.qkv", tensor, 3 * channels)
        mixed = attention(network, f"{name}.attention", joint, heads)
        return dense(network, f"{name}.projection", mixed, channels)

    def widened(tensor: Tensor) -> Tensor:
        wide = dense(network, f"{name}.widen", tensor, 4 * channels)
        return dense(network, f"{name}.narrow", wide, channels)

    tensor = source
    for number, inner in enumerate((attended, widened), 1):
        norm_name, add_name = f"{name}.norm-{number}", f"{name}.add-{number}"
        if norm_first:
            made = inner(layer_norm(network, norm_name, tensor))
            tensor = add(network, add_name, tensor, made)
        else:
            summed = add(network, add_name, tensor, inner(tensor))
            tensor = layer_norm(network, norm_name, summed)
    return tensor


def tied_head(
    network: LayerNetwork, name: str, source: Tensor, vocabulary: int, *, bias: bool
) -> Tensor:
    """Add the product with the transposed table of word embeddings.

    Its matrix is the table's: it counts once, there, and has to be sent here where
    the two are apart, which no edge says.

    `source`: a sequence, of shape (positions, channels). `vocabulary`: words, the rows
    of the table. `bias`: whether it has a bias of its own for each word.
    """
    positions, channels = source.shape
    own = vocabulary if bias else 0
    return network.add(
        name,
        "dense",
        (source,),
        (positions, vocabulary),
        cuts=(
            LayerCut("channel", vocabulary, whole_input=True, divides_parameters=True),
            LayerCut("spatial", positions),
        ),
        flops=2 * positions * channels * vocabulary,
        parameters=own,
        touched_parameters=vocabulary * channels + own,
    )


Window = tuple[int, int]
"""Height and width."""


def convolution(
    network: LayerNetwork,
    name: str,
    source: Tensor,
    channels: int,
    *,
    window: Window = (1, 1),
    stride: int = 1,
    padding: Window = (0, 0),
) -> Tensor:
    """Add a convolution without bias.

    Cut along the rows of the image, parts would also read a few rows of their
    neighbours, which are not counted.

    `source`: images, of shape (channels, height, width). `channels`: channels that it
    makes, at least 1. `stride`: pixels from one window to the next, in both directions,
    at least 1.
    """
    fan_in, *size = source.shape
    height, width = _slid(tuple(size), window, stride, padding)
    taps = fan_in * window[0] * window[1]
    return network.add(
        name,
        "convolution",
        (source,),
        (channels, height, width),
        cuts=(
            LayerCut("spatial", height),
            LayerCut("channel", channels, whole_input=True, divides_parameters=True),
        ),
        flops=2 * taps * channels * height * width,
        parameters=taps * channels,
        profile=f"Conv2D_{window[0]}_{window[1]}_{channels}",
    )


def normalised(network: LayerNetwork, name: str, source: Tensor) -> Tensor:
    """Add a batch normalisation, with the rectifier that follows fused into it.

    A part of the samples normalises by its own mean and variance.

    `source`: images, of shape (channels, height, width).
    """
    channels = source.shape[0]
    return network.add(
        name,
        "normalisation",
        (source,),
        source.shape,
        cuts=(LayerCut("channel", channels, divides_parameters=True),),
        flops=4 * source.elements,
        parameters=2 * channels,
    )


def pool(
    network: LayerNetwork,
    name: str,
    source: Tensor,
    window: Window,
    *,
    stride: int,
    padding: Window = (0, 0),
) -> Tensor:
    """Add a pooling over windows, of the maximum or the mean.

    `source`: images, of shape (channels, height, width). `stride`: pixels from one
    window to the next, in both directions, at least 1.
    """
    channels, *size = source.shape
    height, width = _slid(tuple(size), window, stride, padding)
    return network.add(
        name,
        "pooling",
        (source,),
        (channels, height, width),
        cuts=(LayerCut("spatial", height), LayerCut("channel", channels)),
        flops=window[0] * window[1] * channels * height * width,
        backward=1,
        profile=f"Pool2D_{window[0]}_{window[1]}",
    )


def pool_all(network: LayerNetwork, name: str, source: Tensor) -> Tensor:
    """Add the mean over the whole image: a vector of the channels.

    `source`: images, of shape (channels, height, width).
    """
    channels, height, width = source.shape
    return network.add(
        name,
        "pooling",
        (source,),
        (channels,),
        cuts=(LayerCut("channel", channels),),
        flops=source.elements,
        backward=1,
        profile=f"Pool2D_{height}_{width}",
    )


def _slid(
    size: tuple[int, ...], window: Window, stride: int, padding: Window
) -> tuple[int, int]:
    """Return how many places a window has in each direction."""
    height, width = (
        (length + 2 * pad - across) // stride + 1
        for length, across, pad in zip(size, window, padding, strict=True)
    )
    return height, width


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


MOST_LAYERS = 2**16
"""Most layers of a model: far beyond any that is trained, and of some 100 MB."""


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
        if row == MOST_LAYERS:
            what, fix = "the model has too many layers", "lower its shape parameters"
            allowed = f"at most {MOST_LAYERS}"
            raise InputError(what, where=name, allowed=allowed, fix=fix)
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
