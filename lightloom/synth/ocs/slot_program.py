"""How long the slots of switches last, as a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Durations:
    """How long slots move data.

    `slot`: of each slot, 0 or more. `total`: end of the busiest switch, the fixed costs
    of its slots included. `price`: how much sooner that would be if a pair needed one
    unit less; shape (pairs,).
    """

    slot: FloatArray
    total: float
    price: FloatArray


def best_durations(
    need: FloatArray,
    slots: Sequence[IntArray],
    switch: IntArray,
    fixed: FloatArray,
) -> Durations | None:
    """Return the durations with which all pairs are served soonest.

    A pair is served as long as the slots that hold it last together; slots of one
    switch follow one another.

    `need`: how long each pair has to be served, shape (pairs,). `fixed`: what all slots
    of a switch cost beside their durations, shape (switches,).

    Returns ``None`` where some pair is in no slot.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    count = len(slots)
    slot = np.repeat(np.arange(count), [len(pairs) for pairs in slots])
    pair = np.concatenate(slots)
    # Rows: pairs, then switches. Columns: slots, then the end of the busiest switch.
    rows = [pair, len(need) + switch, len(need) + np.arange(len(fixed))]
    columns = [slot, np.arange(count), np.full(len(fixed), count)]
    values = [np.full(len(pair), -1.0), np.ones(count), np.full(len(fixed), -1.0)]
    matrix = csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(need) + len(fixed), count + 1),
    )
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=matrix,
        b_ub=np.concatenate([-need, -fixed]),
        method="highs-ds",
    )
    if found.x is None:
        return None
    price = -found.ineqlin.marginals[: len(need)]
    return Durations(np.maximum(found.x[:count], 0.0), float(found.x[count]), price)
