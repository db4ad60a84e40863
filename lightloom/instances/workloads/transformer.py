"""Transformers of one stack of blocks: a size of GPT-2, Megatron, RAMP's Table 9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.network import Tensor
from lightloom.instances.workloads.sequence_layers import (
    block,
    layer_norm,
    tied_head,
)
from lightloom.instances.workloads.vector_layers import add, embedding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.network import LayerNetwork


def _build(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
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


def _model(
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
    return WorkloadModel(name, source, parameters, batch_size, _build)


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

MODEL = (
    _model(
        "transformer-350m",
        "GPT-2 medium of Radford et al., 2019; SiP-ML gives the size of its"
        " Transformer, 350 million parameters, and no shape",
        (24, 1024, 16),
        positions=1024,
        vocabulary=50_257,
        batch_size=64,
    ),
    _model(
        "megatron-18b",
        "the 18.4 billion parameters of Narayanan et al., SC 2021, Table 1; SiP-ML"
        " gives the size of its Megatron, 18 billion, and no shape",
        (40, 6144, 48),
        positions=2048,
        vocabulary=51_200,
        batch_size=1024,
    ),
    *(
        _model(
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
