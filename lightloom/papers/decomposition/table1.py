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
from lightloom.papers.decomposition.traffic import permutation_matrix, pipeline_matrix
from lightloom.papers.plot import Plot
from lightloom.papers.reproduction import Figure
from lightloom.replay import completion_time_ps
from lightloom.synth.bounds import find_bound
from lightloom.synth.synthesise import synthesise
from lightloom.validate import verify
from lightloom.validate.certificates.completion_time.switch_uses import least_line_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import FloatArray
    from lightloom.papers.claims import Comparison
    from lightloom.papers.figure_data import Data, Row, Tell

KNOWN = {
    0.01: (0.0833, 0.0752, 0.0737),
    0.02: (0.1007, 0.0860, 0.0850),
    0.04: (0.1330, 0.1106, 0.1072),
    0.08: (0.1937, 0.1523, 0.1475),
}
"""Pipeline traffic on 16 switches by delay: the best published method, implemented
again; wrap-around packing; and the line bound."""

_PIPELINE, _NOISE = "pipeline", 0.003
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
    found = find_bound("switch-uses", instance.fabric, instance.communication)
    return 0.0 if found is None else int(found.bound) / _UNIT_PS


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
                made = synthesise(instance).incumbent
                assert made is not None
                assert verify(made.schedule).valid
                known = KNOWN.get(delay) if name == _PIPELINE else None
                yield (
                    *(name, switches, delay),
                    completion_time_ps(made.schedule) / _UNIT_PS,
                    _line_bound(instance),
                    _uses_bound(instance),
                    *(known or (None, None, None)),
                )


def _claims(data: Data) -> Iterator[Comparison]:
    for name, switches, delay, ours, line, uses, published, packed, bound in data.rows:
        if not all(isinstance(one, float) for one in (ours, line, uses)):
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

FIGURE = Figure(
    name="decomposition-table1",
    takes_s=50,
    title="demands on parallel switches with a delay",
    columns=(
        *("matrix", "switches", "delay", "makespan", "line_bound", "uses_bound"),
        *("known_published", "known_packing", "known_line_bound"),
    ),
    compute=_compute,
    claims=_claims,
    panels=_PLOT,
    notes=(
        "Times are in those that the busiest row or column takes on one circuit.",
        f"permutations-noise has noise of {_NOISE} on all that is not 0.",
        "uses_bound counts which switches a line uses twice: see switch-uses.",
    ),
)
