"""Circuits of given numbers on a ring: whether every pair can have its own.

The question that is left of A.1 (SiP-ML paper) when the slowest pair's ratio is fixed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.models.linear_expression import total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.instances.fabrics.ring import Ring
    from lightloom.models.bottleneck import Pair
    from lightloom.models.linear_expression import Model, Variable
    from lightloom.models.ring import Way


def build(fabric: Ring, ways: Sequence[Way], counts: Mapping[Pair, int]) -> Model:
    """Return the feasibility of given numbers of circuits as a Pyomo model.

    - ``lit[i, j, d, w]``: i sends to j on wavelength w in direction d.
    - ``serve[i, j]``: the pair has exactly its number of circuits.
    - ``span``, ``laser``, ``photodiode``: as in `lightloom.models.ring`.

    Parameters
    ----------
    fabric
        The ring.
    ways
        (source, destination, direction) within reach.
    counts
        Circuits of each pair, at least 1.

    Notes
    -----
    Wavelengths can be permuted freely. ``pinned`` gives the first of them to the pairs
    that have to cross the busiest span of a fibre, one after the other.
    """
    model = pyo.ConcreteModel("ring-level")
    colours = range(fabric.wavelengths)
    rivals: dict[tuple[str, int, int, int], list[Variable]] = defaultdict(list)
    of_pair: dict[Pair, list[Variable]] = defaultdict(list)
    with PauseGC():
        model.lit = pyo.Var(
            [(*way, w) for way in ways for w in colours], within=pyo.Binary
        )
        for (i, j, d, w), circuit in model.lit.items():
            of_pair[i, j].append(circuit)
            for s in fabric.spans(i, j, d):
                rivals["span", d, s, w].append(circuit)
            if fabric.transceivers < fabric.directions:
                rivals["laser", 0, i, w].append(circuit)
                rivals["photodiode", 0, j, w].append(circuit)
        model.rival = pyo.Constraint(
            [key for key in rivals if len(rivals[key]) > 1],
            rule=lambda _, *key: (None, total(rivals[key]), 1),
        )
        model.serve = pyo.Constraint(
            list(counts),
            rule=lambda _, *pair: (counts[pair], total(of_pair[pair]), counts[pair]),
        )
        model.pinned = pyo.Constraint(
            _pins(fabric, ways, counts), rule=lambda m, *key: m.lit[key] == 1
        )
        model.objective = pyo.Objective(expr=0)
    return model


def _pins(
    fabric: Ring, ways: Sequence[Way], counts: Mapping[Pair, int]
) -> list[tuple[int, int, int, int]]:
    """Return circuits that may be taken for granted, if there is any answer."""
    choices = Counter((i, j) for i, j, _ in ways)
    crossing: dict[tuple[int, int], list[Way]] = defaultdict(list)
    for i, j, d in ways:
        if choices[i, j] == 1:
            for s in fabric.spans(i, j, d):
                crossing[d, s].append((i, j, d))
    loads = {
        key: sum(counts[i, j] for i, j, _ in crossing[key]) for key in sorted(crossing)
    }
    if not loads or max(loads.values()) > fabric.wavelengths:
        return []
    pins: list[tuple[int, int, int, int]] = []
    for i, j, d in crossing[max(loads, key=lambda key: loads[key])]:
        taken = len(pins)
        pins += [(i, j, d, taken + extra) for extra in range(counts[i, j])]
    return pins


def decode(model: Model) -> dict[Way, list[int]]:
    """Return the wavelengths of each way, sorted."""
    found: dict[Way, list[int]] = defaultdict(list)
    for (*way, w), circuit in model.lit.items():
        if round(circuit.value or 0):
            i, j, d = way
            found[i, j, d].append(w)
    return {way: sorted(found[way]) for way in sorted(found)}
