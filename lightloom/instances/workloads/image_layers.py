"""Layers on images: convolutions, normalisations, pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.model_layer import LayerCut

if TYPE_CHECKING:
    from lightloom.instances.workloads.network import LayerNetwork, Tensor

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
