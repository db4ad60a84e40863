"""Transformers: one stack of blocks (GPT-2, Megatron), BERT, encoders with decoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.layers import (
    Tensor,
    add,
    block,
    dense,
    embedding,
    joint_attention,
    layer_norm,
    tied_head,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.layers import LayerNetwork


def _build_stack(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
    """Add the blocks; a vocabulary of 0 leaves embeddings and head out."""
    positions, width = parameters["positions"], parameters["hidden"]
    vocabulary = parameters["vocabulary"]
    tensor = Tensor(None, (positions, width))
    if vocabulary:
        words = embedding(network, "words", vocabulary, width, positions=positions)
        places = embedding(network, "places", positions, width, positions=positions)
        tensor = add(network, "embedded", words, places)
    for number in range(1, parameters["layers"] + 1):
        heads = parameters["heads"]
        tensor = block(network, f"block-{number}", tensor, heads, norm_first=True)
    if vocabulary:
        tensor = layer_norm(network, "last.norm", tensor)
        tied_head(network, "words.predict", tensor, vocabulary, bias=False)


def _stack(
    name: str,
    source: str,
    shape: tuple[int, int, int],
    *,
    positions: int,
    vocabulary: int,
    batch_size: int,
) -> WorkloadModel:
    """Return a model of (layers, hidden, heads)."""
    layers, hidden, heads = shape
    parameters = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "positions": positions,
        "vocabulary": vocabulary,
    }
    return WorkloadModel(name, source, parameters, batch_size, _build_stack)


_RAMP_TABLE_9 = (
    ("2.5", 36, 1152, 12, 2480),
    ("2.4", 40, 1536, 16, 3424),
    ("2.2", 56, 2304, 24, 4896),
    ("2.0", 50, 4096, 32, 7168),
    ("1.8", 71, 6144, 64, 10_880),
    ("1.7", 128, 8192, 128, 16_896),
    ("1.5", 132, 16_384, 512, 14_080),
    ("1.3", 160, 32_768, 2048, 1024),
    ("1.2", 52, 131_072, 8192, 64),
    ("1.0", 90, 262_144, 65_536, 4),
)
"""Cross-entropy loss aimed at, layers, hidden, heads, and the global batch."""

_STACKS = (
    _stack(
        "transformer-350m",
        "GPT-2 medium of Radford et al., 2019; SiP-ML gives the size of its"
        " Transformer, 350 million parameters, and no shape",
        (24, 1024, 16),
        positions=1024,
        vocabulary=50_257,
        batch_size=64,
    ),
    _stack(
        "megatron-18b",
        "the 18.4 billion parameters of Narayanan et al., SC 2021, Table 1; SiP-ML"
        " gives the size of its Megatron, 18 billion, and no shape",
        (40, 6144, 48),
        positions=2048,
        vocabulary=51_200,
        batch_size=1024,
    ),
    *(
        _stack(
            f"megatron-ce-{loss}",
            "RAMP, Table 9, blocks alone, 1024 positions",
            (layers, hidden, heads),
            positions=1024,
            vocabulary=0,
            batch_size=batch_size,
        )
        for loss, layers, hidden, heads, batch_size in _RAMP_TABLE_9
    ),
)


_SEGMENTS = 2
"""Sentences that BERT tells apart in its input."""


def _build_bert(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
    positions, width = parameters["positions"], parameters["hidden"]
    tensor = embedding(
        network, "words", parameters["vocabulary"], width, positions=positions
    )
    for name, rows in (("places", positions), ("segments", _SEGMENTS)):
        table = embedding(network, name, rows, width, positions=positions)
        tensor = add(network, f"{name}.add", tensor, table)
    tensor = layer_norm(network, "embedded.norm", tensor)
    for number in range(1, parameters["layers"] + 1):
        heads = parameters["heads"]
        tensor = block(network, f"block-{number}", tensor, heads, norm_first=False)
    # The sentence head reads the first position alone.
    first = Tensor(tensor.row, (1, width))
    pooled = dense(network, "sentence.pool", first, width)
    dense(network, "sentence.classify", pooled, 2)
    masked = dense(network, "words.transform", tensor, width)
    masked = layer_norm(network, "words.transform.norm", masked)
    tied_head(network, "words.predict", masked, parameters["vocabulary"], bias=True)


_BERT = WorkloadModel(
    name="bert-large",
    source="BERT-large of Devlin et al., NAACL 2019, pre-training at 512 positions",
    parameters={
        "layers": 24,
        "hidden": 1024,
        "heads": 16,
        "positions": 512,
        "vocabulary": 30_522,
    },
    batch_size=64,
    build=_build_bert,
)


def _build_encoder_decoder(
    network: LayerNetwork, parameters: Mapping[str, int]
) -> None:
    """Add encoder and decoder side by side, without embeddings."""
    shape, heads = (parameters["positions"], parameters["hidden"]), parameters["heads"]
    encoded, decoded = Tensor(None, shape), Tensor(None, shape)
    for number in range(1, parameters["layers"] + 1):
        name = f"encoder-{number}"
        encoded = _attended(network, name, encoded, encoded, heads)
        encoded = _widened(network, name, encoded)
        name = f"decoder-{number}"
        decoded = _attended(network, f"{name}.self", decoded, decoded, heads)
        decoded = _attended(network, f"{name}.cross", decoded, encoded, heads)
        decoded = _widened(network, name, decoded)
    dense(network, "predict", decoded, 1)


def _attended(
    network: LayerNetwork, name: str, source: Tensor, memory: Tensor, heads: int
) -> Tensor:
    mixed = joint_attention(network, f"{name}.attention", source, memory, heads)
    return add(network, f"{name}.add", mixed, source)


def _widened(network: LayerNetwork, name: str, source: Tensor) -> Tensor:
    width = source.shape[-1]
    tensor = dense(network, f"{name}.dense-1", source, width)
    return dense(network, f"{name}.dense-2", tensor, width)


def _encoder_decoder(
    gpus: int, hidden: int, heads: int, positions: int, batch_size: int
) -> WorkloadModel:
    return WorkloadModel(
        name=f"transformer-topoopt-{gpus}",
        source=(
            f"shapes of the operator profile of TopoOpt's transformer on {gpus} GPUs,"
            " six encoder and six decoder layers as its task graph on 16 GPUs counts"
            " them, wired as such layers are"
        ),
        parameters={
            "layers": 6,
            "hidden": hidden,
            "heads": heads,
            "positions": positions,
        },
        batch_size=batch_size,
        build=_build_encoder_decoder,
    )


_ENCODER_DECODERS = (
    _encoder_decoder(16, 768, 12, 256, 1024),
    _encoder_decoder(128, 1024, 16, 64, 8192),
)

MODEL = (*_STACKS, _BERT, *_ENCODER_DECODERS)
