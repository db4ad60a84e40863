"""Demands on parallel switches with a delay: makespans beside the line bound."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.instance import Instance
from lightloom.papers.claims import between, holds, near
from lightloom.papers.reproduction import Plot, figures
from lightloom.replay import completion_time_ps
from lightloom.synth.bounds import find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time.switch_uses import least_line_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import FloatArray
    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell

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
    """Return 16 random permutations of 100 nodes, four of .7 in all, twelve of .3.

    The standard deviation of the noise is relative to the largest line sum.
    """
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


KNOWN = {
    0.01: (0.0833, 0.0752, 0.0737),
    0.02: (0.1007, 0.0860, 0.0850),
    0.04: (0.1330, 0.1106, 0.1072),
    0.08: (0.1937, 0.1523, 0.1475),
}
"""Pipeline traffic on 16 switches by delay: the best published method, implemented
again; wrap-around packing; and the line bound."""

_PIPELINE = "pipeline"
_MATRICES: dict[str, tuple[Callable[[int], FloatArray], tuple[int, ...]]] = {
    _PIPELINE: (pipeline_matrix, (16,)),
    "permutations": (permutation_matrix, (4, 16)),
    "permutations-noise": (partial(permutation_matrix, noise=_NOISE), (4, 16)),
}
_WITHIN = {_PIPELINE: 0.03, "permutations": 0.06, "permutations-noise": 0.06}
_UNIT_BYTES, _UNIT_PS = 10**9, 10**12


def _question(matrix: FloatArray, switches: int, delay: float) -> Instance:
    """Return a matrix in which a line of sum 1 takes a circuit a second."""
    fabric = Ocs(
        nodes=len(matrix),
        switches=switches,
        bits_per_second_per_node=switches * 8 * _UNIT_BYTES,
        alpha_ps=0,
        reconfiguration_ps=round(delay * _UNIT_PS),
    )
    size = np.rint(matrix * _UNIT_BYTES).astype(np.int64)
    return Instance(fabric, Demand.from_matrix(size), "decomposition")


def _uses_bound(instance: Instance) -> float:
    certificate = find_bound("switch-uses", instance.fabric, instance.communication)
    return 0.0 if certificate is None else int(certificate.bound) / _UNIT_PS


def _line_bound(instance: Instance) -> float:
    """Return what the uses of a line take at least, all switches together."""
    fabric, demand = instance.fabric, instance.communication
    assert isinstance(fabric, Ocs)
    assert isinstance(demand, Demand)
    lines = defaultdict(list)
    for direction, ends in enumerate((demand.src, demand.dst)):
        for node, size_bytes in zip(ends, demand.bytes, strict=True):
            lines[direction, node].append(size_bytes)
    longest_ps = max(
        (least_line_ps(fabric, line) for line in lines.values()), default=0
    )
    return longest_ps / _UNIT_PS


def _compute(
    tell: Tell,
    *,
    delays: tuple[float, ...] = tuple(KNOWN),
    matrices: tuple[str, ...] = tuple(_MATRICES),
    seed: int = 0,
) -> Iterator[Row]:
    """Synthesise, verify and replay every matrix, number of switches and delay."""
    for name in matrices:
        make, counts = _MATRICES[name]
        for switches in counts:
            for delay in delays:
                tell(f"{name}, {switches} switches, delay {delay}")
                instance = _question(make(seed), switches, delay)
                synthesis = synthesise(instance).incumbent
                assert synthesis is not None
                assert verify(synthesis.schedule).valid
                published = KNOWN.get(delay) if name == _PIPELINE else None
                yield (
                    *(name, switches, delay),
                    completion_time_ps(synthesis.schedule) / _UNIT_PS,
                    _line_bound(instance),
                    _uses_bound(instance),
                    *(published or (None, None, None)),
                )


def _claims(data: Data) -> Iterator[Comparison]:
    for name, switches, delay, ours, line, uses, published, packed, bound in data.rows:
        if not all(isinstance(value, float) for value in (ours, line, uses)):
            continue
        case = f"{name}, {switches} switches, delay {delay}"
        best = max(float(line or 0), float(uses or 0))
        within = _WITHIN[str(name)]
        yield holds(
            f"{case}: near the bound",
            f"at most {within:.0%} above",
            f"{float(ours or 0) / best - 1:.2%} above {best:.4f}",
            points=between({"makespan": float(ours or 0)}, most=best * (1 + within)),
            why="permutations that each node needs once hold noise up",
        )
        if isinstance(bound, float) and isinstance(packed, float):
            yield near(f"{case}: line bound", bound, float(line or 0), "", band=0.003)
            yield holds(
                f"{case}: packing",
                f"{packed}, best published {published}",
                f"{ours:.4f}",
                points=between({"makespan": float(ours or 0)}, most=packed * 1.005),
                why="the noise is another one",
            )


_PLOT = Plot(
    x="delay",
    y="makespan",
    series="switches",
    panel="matrix",
    x_label="delay, in times of the busiest line",
    y_label="makespan, in times of the busiest line",
    names=lambda switches: f"{switches} switches",
)

FIGURE = figures(
    __package__,
    ("decomposition-table1", _compute, _claims, _PLOT),
)
