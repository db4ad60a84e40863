"""Encoder-decoder transformers: those that the TopoOpt artifact was measured with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.network import Tensor
from lightloom.instances.workloads.sequence_layers import joint_attention
from lightloom.instances.workloads.vector_layers import add, dense

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.network import LayerNetwork


def _build(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
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


def _model(
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
        build=_build,
    )


MODEL = (_model(16, 768, 12, 256, 1024), _model(128, 1024, 16, 64, 8192))
