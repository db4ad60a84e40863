"""The search for the node that is farthest, and for the rings that carry most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.ring import Ring
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.synth.ring.arcs import ring_ways
from lightloom.validate.certificates.completion_time.distance import circuits_apart
from lightloom.validate.certificates.completion_time.spans import (
    axes_of,
    crossed_bytes,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import FloatArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


_MOST_PAIRS = 20_000
_FINE = 2**20
"""The dearest span."""


def _farthest(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the first node that most circuits are between it and the root."""
    apart = circuits_apart(fabric, task)
    if apart is None:
        return None
    assert isinstance(task, Collective)
    node = np.sort(np.array(task.nodes, dtype=np.int64))
    most = int(apart[node].argmax())
    return {"node": int(node[most])} if apart[node[most]] > 1 else None


def _fullest(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return the axis whose spans have most to carry."""
    if not isinstance(fabric, Ring | Ring2d):
        return None
    time = {
        axis: crossed_bytes(fabric, task, axis) / ring.wavelengths
        for axis, ring in enumerate(axes_of(fabric))
    }
    most = max(time, key=lambda axis: time[axis])
    if not time[most]:
        return None
    if not isinstance(fabric, Ring) or not isinstance(task, Demand) or task.relays:
        return {"axis": most}
    size_bytes = np.array(task.bytes, dtype=np.float64)
    prices = _span_prices(fabric, task, size_bytes)
    crowd = _span_prices(fabric, task, np.ones(len(task.src)))
    if prices is None or crowd is None:
        return {"axis": most}
    return {"axis": most, "prices": prices, "crowd": crowd}


def _span_prices(fabric: Ring, task: Demand, load: FloatArray) -> list[int] | None:
    """Return prices of spans by which pairs pay most, however they go round.

    They are the dual of the least load of the fullest span, where each pair may be
    divided between its ways; ``None`` where pairs are very many, or out of reach.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    if len(task.src) > _MOST_PAIRS:
        return None
    try:
        ways = ring_ways(fabric, task)
    except InfeasibleError:
        return None
    way = np.repeat(np.arange(len(ways.pair)), ways.hops)
    step = np.arange(len(way)) - np.repeat(np.cumsum(ways.hops) - ways.hops, ways.hops)
    span = ways.direction[way] * fabric.nodes + (ways.begin[way] + step) % fabric.nodes
    spans, width = fabric.directions * fabric.nodes, len(ways.pair) + 1
    row = np.append(span, np.arange(spans))
    column = np.append(way, np.full(spans, width - 1))
    value = np.append(load[ways.pair[way]] / load.sum(), -np.ones(spans))
    shares = coo_array(
        (np.ones(width - 1), (ways.pair, np.arange(width - 1))),
        shape=(len(task.src), width),
    )
    found = linprog(
        np.append(np.zeros(width - 1), 1.0),
        A_ub=coo_array((value, (row, column)), shape=(spans, width)).tocsr(),
        b_ub=np.zeros(spans),
        A_eq=shares.tocsr(),
        b_eq=np.ones(len(task.src)),
        method="highs",
    )
    if not found.success:
        return None
    price = np.maximum(0.0, -found.ineqlin.marginals)
    return list(map(int, np.rint(price / price.max() * _FINE)))


SEARCHES = (
    WitnessSearch("distance", _farthest),
    WitnessSearch("spans", _fullest),
)
"""The searches of this module."""
