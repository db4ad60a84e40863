"""Traffic matrices of the literature on parallel switches, normalised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray

_NODES = 32
_NOISE = 0.003


def pipeline_matrix(seed: int) -> FloatArray:
    """Return traffic of tensor, pipeline and data parallelism on 32 nodes.

    The largest line sum is 1. What is there has noise of standard deviation .003.
    """
    i, j = np.indices((_NODES, _NODES))
    ahead = ((i % 8 < 6) & (j - i == 2)) | ((i % 8 >= 6) & (i - j == 6))
    size = np.where((i != j) & (i // 2 == j // 2), 680 * 125 / 1024, 0.0)
    size += np.where(abs(i - j) == 8, 16 * 125 / 1024, 0.0)
    size += np.where(ahead, 741 / 1024, 0.0)
    size += np.where(abs(i - j) == 24, 96 / 1024, 0.0)
    return _with_noise(size, np.random.default_rng(seed), _NOISE)


def permutation_matrix(seed: int, noise: float = 0.0) -> FloatArray:
    """Return 16 random permutations of 100 nodes, four of .7 in all, twelve of .3."""
    rng = np.random.default_rng(seed)
    size = np.zeros((100, 100))
    for weight in [0.7 / 4] * 4 + [0.3 / 12] * 12:
        size[np.arange(100), rng.permutation(100)] += weight
    np.fill_diagonal(size, 0.0)
    return _with_noise(size, rng, noise)


def _with_noise(size: FloatArray, rng: np.random.Generator, noise: float) -> FloatArray:
    size = size / _line_sum(size)
    drawn = rng.normal(0, noise, size.shape) if noise else 0.0
    size = np.where(size > 0, np.maximum(size + drawn, 0.0), 0.0)
    whole: FloatArray = size / _line_sum(size)
    return whole


def _line_sum(size: FloatArray) -> float:
    return float(max(size.sum(axis=0).max(), size.sum(axis=1).max()))
