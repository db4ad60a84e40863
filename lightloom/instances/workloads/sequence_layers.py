"""Layers on sequences: attention, normalisation, and the transformer's block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.model_layer import LayerCut
from lightloom.instances.workloads.vector_layers import add, dense

if TYPE_CHECKING:
    from lightloom.instances.workloads.network import LayerNetwork, Tensor


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
