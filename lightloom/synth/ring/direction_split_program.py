"""Splitting circuits over both ways round a ring by a solver, where search fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.solvers import SolveOptions
from lightloom.synth.ring.arcs import crossings
from lightloom.synth.ring.linear_program import integer_point, linear_program

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays

_WORK = 0.1
"""Most work of a split, in CP-SAT's own reproducible seconds."""


def solved_split(
    fabric: Ring, ways: RingWays, counts: IntArray, seed: int
) -> IntArray | None:
    """Return the circuits of each way, if a solver finds a split that fits all spans.

    `counts`: circuits of each pair, shape (pairs,).

    Returns shape (ways,); ``None`` if none is found within the work.
    """
    pairs, spans = len(counts), fabric.directions * fabric.nodes
    way, span = crossings(ways, fabric.nodes)
    row = np.concatenate([ways.pair, pairs + ways.direction[way] * fabric.nodes + span])
    column = np.concatenate([np.arange(len(ways.pair)), way])
    form = linear_program(
        (row.tolist(), column.tolist(), np.ones(len(row))),
        cost=np.zeros(len(ways.pair)),
        upper=counts[ways.pair].astype(np.float64),
        rows=(
            np.concatenate([counts, np.zeros(spans)]),
            np.concatenate([counts, np.full(spans, float(fabric.wavelengths))]),
        ),
        integral=True,
    )
    options = SolveOptions(seed=seed, extra={"max_deterministic_time": _WORK})
    return integer_point(form, options)
