"""BERT-large: an encoder with the heads of its pre-training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.network import Tensor
from lightloom.instances.workloads.sequence_layers import (
    block,
    layer_norm,
    tied_head,
)
from lightloom.instances.workloads.vector_layers import add, dense, embedding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.network import LayerNetwork

_SEGMENTS = 2


def _build(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
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


MODEL = WorkloadModel(
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
    build=_build,
)
