"""Convolutional models of images: ResNet-50 and Inception-v3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.instances.workloads import WorkloadModel
from lightloom.instances.workloads.layers import (
    Tensor,
    Window,
    add,
    concatenate,
    convolution,
    dense,
    normalised,
    pool,
    pool_all,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.workloads.layers import LayerNetwork


_STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Channels of the narrow convolutions, and blocks, of each stage."""


def _build_resnet(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
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


_RESNET = WorkloadModel(
    name="resnet-50",
    source="ResNet-50 of He et al., CVPR 2016, strides in 3 x 3 windows (v1.5)",
    parameters={"image_side": 224, "classes": 1000},
    batch_size=256,
    build=_build_resnet,
)


class _Grower:
    """Adds numbered convolutions, each with its normalisation."""

    def __init__(self, network: LayerNetwork) -> None:
        self.network = network

    def conv(
        self,
        name: str,
        source: Tensor,
        channels: int,
        window: Window = (1, 1),
        *,
        stride: int = 1,
        same: bool = True,
    ) -> Tensor:
        """Add a convolution; `same` pads so that stride 1 keeps the size."""
        padding = (window[0] // 2, window[1] // 2) if same else (0, 0)
        tensor = convolution(
            self.network,
            name,
            source,
            channels,
            window=window,
            stride=stride,
            padding=padding,
        )
        return normalised(self.network, f"{name}.norm", tensor)

    def chain(self, name: str, source: Tensor, *steps: tuple[int, Window]) -> Tensor:
        """Add convolutions of (channels, window), one after another."""
        tensor = source
        for number, (channels, window) in enumerate(steps, 1):
            tensor = self.conv(f"{name}-{number}", tensor, channels, window)
        return tensor

    def averaged(self, name: str, source: Tensor, channels: int) -> Tensor:
        """Add a 3 x 3 mean and a 1 x 1 convolution."""
        tensor = pool(
            self.network, f"{name}.mean", source, (3, 3), stride=1, padding=(1, 1)
        )
        return self.conv(name, tensor, channels)

    def join(self, name: str, *branches: Tensor) -> Tensor:
        """Add the concatenation that ends a block."""
        return concatenate(self.network, f"{name}.join", branches)


def _build_inception(network: LayerNetwork, parameters: Mapping[str, int]) -> None:
    grow = _Grower(network)
    tensor = _stem(grow, parameters["image_side"])
    for number, pooled in enumerate((32, 64, 64), 1):
        tensor = _fine(grow, f"fine-{number}", tensor, pooled)
    tensor = _halve_fine(grow, "halve-1", tensor)
    for number, narrow in enumerate((128, 160, 160, 192), 1):
        tensor = _middle(grow, f"middle-{number}", tensor, narrow)
    if parameters["auxiliary"]:
        _auxiliary(grow, tensor, parameters["classes"])
    tensor = _halve_middle(grow, "halve-2", tensor)
    for number in (1, 2):
        tensor = _coarse(grow, f"coarse-{number}", tensor)
    tensor = pool_all(network, "pool", tensor)
    dense(network, "classify", tensor, parameters["classes"])


def _stem(grow: _Grower, side: int) -> Tensor:
    image = Tensor(None, (3, side, side))
    tensor = grow.conv("stem-1", image, 32, (3, 3), stride=2, same=False)
    tensor = grow.conv("stem-2", tensor, 32, (3, 3), same=False)
    tensor = grow.conv("stem-3", tensor, 64, (3, 3))
    tensor = pool(grow.network, "stem.pool-1", tensor, (3, 3), stride=2)
    tensor = grow.conv("stem-4", tensor, 80)
    tensor = grow.conv("stem-5", tensor, 192, (3, 3), same=False)
    return pool(grow.network, "stem.pool-2", tensor, (3, 3), stride=2)


def _fine(grow: _Grower, name: str, source: Tensor, pooled: int) -> Tensor:
    return grow.join(
        name,
        grow.conv(f"{name}.a", source, 64),
        grow.chain(f"{name}.b", source, (48, (1, 1)), (64, (5, 5))),
        grow.chain(f"{name}.c", source, (64, (1, 1)), (96, (3, 3)), (96, (3, 3))),
        grow.averaged(f"{name}.d", source, pooled),
    )


def _halve_fine(grow: _Grower, name: str, source: Tensor) -> Tensor:
    deep = grow.chain(f"{name}.b", source, (64, (1, 1)), (96, (3, 3)))
    return grow.join(
        name,
        grow.conv(f"{name}.a", source, 384, (3, 3), stride=2, same=False),
        grow.conv(f"{name}.b-3", deep, 96, (3, 3), stride=2, same=False),
        pool(grow.network, f"{name}.pool", source, (3, 3), stride=2),
    )


def _middle(grow: _Grower, name: str, source: Tensor, narrow: int) -> Tensor:
    row, column = (1, 7), (7, 1)
    return grow.join(
        name,
        grow.conv(f"{name}.a", source, 192),
        grow.chain(f"{name}.b", source, (narrow, (1, 1)), (narrow, row), (192, column)),
        grow.chain(
            f"{name}.c",
            source,
            (narrow, (1, 1)),
            (narrow, column),
            (narrow, row),
            (narrow, column),
            (192, row),
        ),
        grow.averaged(f"{name}.d", source, 192),
    )


def _halve_middle(grow: _Grower, name: str, source: Tensor) -> Tensor:
    short = grow.conv(f"{name}.a-1", source, 192)
    deep = grow.chain(f"{name}.b", source, (192, (1, 1)), (192, (1, 7)), (192, (7, 1)))
    return grow.join(
        name,
        grow.conv(f"{name}.a-2", short, 320, (3, 3), stride=2, same=False),
        grow.conv(f"{name}.b-4", deep, 192, (3, 3), stride=2, same=False),
        pool(grow.network, f"{name}.pool", source, (3, 3), stride=2),
    )


def _coarse(grow: _Grower, name: str, source: Tensor) -> Tensor:
    short = grow.conv(f"{name}.b", source, 384)
    deep = grow.chain(f"{name}.c", source, (448, (1, 1)), (384, (3, 3)))
    return grow.join(
        name,
        grow.conv(f"{name}.a", source, 320),
        grow.conv(f"{name}.b-row", short, 384, (1, 3)),
        grow.conv(f"{name}.b-column", short, 384, (3, 1)),
        grow.conv(f"{name}.c-row", deep, 384, (1, 3)),
        grow.conv(f"{name}.c-column", deep, 384, (3, 1)),
        grow.averaged(f"{name}.d", source, 192),
    )


def _auxiliary(grow: _Grower, source: Tensor, classes: int) -> None:
    """Add the second classifier, which training alone uses."""
    tensor = pool(grow.network, "auxiliary.pool", source, (5, 5), stride=3)
    tensor = grow.conv("auxiliary-1", tensor, 128)
    tensor = grow.conv("auxiliary-2", tensor, 768, (5, 5), same=False)
    tensor = pool_all(grow.network, "auxiliary.mean", tensor)
    dense(grow.network, "auxiliary.classify", tensor, classes)


_INCEPTION = WorkloadModel(
    name="inception-v3",
    source="Inception-v3 of Szegedy et al., CVPR 2016, as torchvision has it",
    parameters={"image_side": 299, "classes": 1000, "auxiliary": 1},
    batch_size=256,
    build=_build_inception,
)

MODEL = (_RESNET, _INCEPTION)
