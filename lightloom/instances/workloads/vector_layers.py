"""Layers on vectors: products with matrices, tables, sums and concatenations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.model_layer import LayerCut

if TYPE_CHECKING:
    from lightloom.instances.workloads.network import LayerNetwork, Tensor


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
