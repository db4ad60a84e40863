"""ResNet-50: residual convolutions on images of 224 x 224."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.image_layers import (
    convolution,
    normalised,
    pool,
    pool_all,
)
from lightloom.instances.workloads.network import Tensor
from lightloom.instances.workloads.vector_layers import add, dense

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.network import LayerNetwork

_STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Channels of the narrow convolutions, and blocks, of each stage."""


def _build(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
    side = parameters["image_side"]
    image = Tensor(None, (3, side, side))
    tensor = convolution(
        network, "stem", image, 64, window=(7, 7), stride=2, padding=(3, 3)
    )
    tensor = normalised(network, "stem.norm", tensor)
    tensor = pool(network, "stem.pool", tensor, (3, 3), stride=2, padding=(1, 1))
    for stage, (channels, blocks) in enumerate(_STAGES, 1):
        for number in range(1, blocks + 1):
            stride = 2 if stage > 1 and number == 1 else 1
            name = f"stage-{stage}.{number}"
            tensor = _bottleneck(network, name, tensor, channels, stride)
    tensor = pool_all(network, "pool", tensor)
    dense(network, "classify", tensor, parameters["classes"])


def _bottleneck(
    network: LayerNetwork, name: str, source: Tensor, channels: int, stride: int
) -> Tensor:
    """Add narrow, 3 x 3 and wide convolutions, and the way around them."""
    tensor = convolution(network, f"{name}.narrow", source, channels)
    tensor = normalised(network, f"{name}.narrow.norm", tensor)
    tensor = convolution(
        network,
        f"{name}.middle",
        tensor,
        channels,
        window=(3, 3),
        stride=stride,
        padding=(1, 1),
    )
    tensor = normalised(network, f"{name}.middle.norm", tensor)
    tensor = convolution(network, f"{name}.wide", tensor, 4 * channels)
    tensor = normalised(network, f"{name}.wide.norm", tensor)
    around = source
    if stride > 1 or source.shape != tensor.shape:
        around = convolution(
            network, f"{name}.around", source, 4 * channels, stride=stride
        )
        around = normalised(network, f"{name}.around.norm", around)
    return add(network, f"{name}.add", tensor, around)


MODEL = WorkloadModel(
    name="resnet-50",
    source="ResNet-50 of He et al., CVPR 2016, strides in 3 x 3 windows (v1.5)",
    parameters={"image_side": 224, "classes": 1000},
    batch_size=256,
    build=_build,
)
