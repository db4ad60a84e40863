"""Circuits of the rounds model, and what they compete for: equations (4) to (6)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pyomo.environ as pyo

from lightloom.models.candidate_routes import open_edges, route_edges
from lightloom.models.linear_expression import difference, total

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.models.candidate_routes import Routes
    from lightloom.models.deliveries import Deliveries
    from lightloom.models.linear_expression import Linear, Model, Variable


class Wavelengths(StrEnum):
    """How wavelengths are stated."""

    EXPLICIT = "explicit"
    """Every circuit has one; equations (4) to (6) as corrected."""
    AGGREGATED = "aggregated"
    """Only their number counts: necessary, and sufficient where waveguides abound."""


@dataclass(frozen=True)
class RoundsInput:
    """What a model of this module is about, for its decoder.

    `deliveries`: who has what and who lacks it.
    """

    fabric: Lightpath
    deliveries: Deliveries
    routes: Routes
    wavelengths: Wavelengths


def state_circuits(model: Model, question: RoundsInput) -> None:
    """State the circuits of every round, and what they compete for.

    `model`: has the variables ``send[round, src, dst, chunk]``; gets ``lit[round, src,
    dst, route, wavelength]``, without wavelength where that is aggregated, and the
    constraints of equations (4) to (6).
    """
    fabric, routes = question.fabric, question.routes
    explicit = question.wavelengths is Wavelengths.EXPLICIT
    lasers = fabric.lasers
    colours = [(w,) for w in range(lasers)] if explicit else [()]
    carried = defaultdict(list)
    for key in model.send:
        carried[key[:3]].append(model.send[key])
    # A circuit of an aggregated model stands for any number of wavelengths.
    lit = [
        (*key, i, *colour)
        for key in carried
        for i in range(len(routes[key[1:]]))
        for colour in colours
    ]
    model.lit = pyo.Var(lit, within=pyo.Integers, bounds=(0, 1 if explicit else lasers))
    carriers, out, into, over = (defaultdict(list) for _ in range(4))
    edges = {
        (*pair, i): route_edges(route)
        for pair, options in routes.items()
        for i, route in enumerate(options)
    }
    for key in lit:
        r, src, dst, i, *colour = key
        circuit = model.lit[key]
        carriers[r, src, dst].append(circuit)
        out[(r, src, *colour)].append(circuit)
        into[(r, dst, *colour)].append(circuit)
        for edge in edges[src, dst, i]:
            over[(r, *edge, *colour)].append(circuit)
    model.carry = pyo.Constraint(
        list(carried),
        rule=lambda _, *key: (0, difference(carried[key], carriers[key]), 0),
    )
    each = 1 if explicit else lasers
    waveguides = open_edges(fabric)
    _limit(model, "laser", out, lambda _: each)
    _limit(model, "photodiode", into, lambda _: each)
    # Where an edge has a waveguide for every circuit that may come, nothing is limited.
    scarce = {key: c for key, c in over.items() if len(c) > waveguides[key[1], key[2]]}
    _limit(model, "waveguide", scarce, lambda key: each * waveguides[key[1], key[2]])


def break_symmetry(model: Model, question: RoundsInput, horizon: int) -> None:
    """Pin the receptions of the first node that lacks anything.

    Where nothing is passed on, (round, wavelength) slots can be permuted at will, so
    its k-th reception takes slot k. Elsewhere wavelengths can, within a round.

    `model`: has the variables ``send[round, src, dst, chunk]`` and, from
    `state_circuits` with explicit wavelengths, ``lit[round, src, dst, route,
    wavelength]``; variables are fixed, or constraints added, here. `question`: what the
    model is about; at least one node lacks something.
    """
    deliveries, lasers = question.deliveries, question.fabric.lasers
    node = min(min(nodes) for nodes in deliveries.lacking.values())
    if not deliveries.one_hop:
        lit_at = defaultdict(list)
        for key in model.lit:
            if key[2] == node:
                lit_at[key[0], key[4]].append(model.lit[key])
        model.symmetry = pyo.Constraint(
            [(r, w) for r in range(horizon) for w in range(lasers - 1)],
            rule=lambda _, r, w: (0, difference(lit_at[r, w], lit_at[r, w + 1]), None),
        )
        return
    wanted = sorted(
        (deliveries.holders[chunk][0], chunk)
        for chunk, nodes in deliveries.lacking.items()
        if nodes[0] == node
    )
    slots = {key: divmod(slot, lasers) for slot, key in enumerate(wanted)}
    open_slots = {(src, *slots[src, chunk]) for src, chunk in wanted}
    for key in model.send:
        r, src, dst, chunk = key
        if dst == node and slots[src, chunk][0] != r:
            model.send[key].fix(0)
    for key in model.lit:
        r, src, dst, _, colour = key
        if dst == node and (src, r, colour) not in open_slots:
            model.lit[key].fix(0)


def _limit(
    model: Model,
    name: str,
    circuits: dict[Any, list[Variable]],
    amount: Callable[[Any], int],
) -> None:
    """Add rows: at most `amount` of the circuits of a key in a round that is used."""
    used = getattr(model, "used", None)

    def row(_: Model, *key: int) -> tuple[None, Linear, int]:
        most = amount(key)
        if used is None:
            return None, total(circuits[key]), most
        return None, difference(circuits[key], [used[key[0]]], most), 0

    model.add_component(name, pyo.Constraint(list(circuits), rule=row))
