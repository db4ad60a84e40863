"""Wavelengths of one round: circuits with routes, coloured so that nothing clashes.

The second half of the rounds model where that one aggregates wavelengths: equations
(4) to (6) of Algorithm 1 with everything but the wavelengths decided.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyomo.environ as pyo

from lightloom.models.candidate_routes import open_edges, route_edges
from lightloom.models.linear_expression import total
from lightloom.models.rounds_answer import light_paths

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.models.linear_expression import Model, Variable


def build_colouring(fabric: Lightpath, circuits: Circuits) -> Model:
    """Return the colouring of some circuits as a feasibility model.

    ``colour[k, w]``: circuit k has wavelength w. ``one``: each has one. ``laser``,
    ``photodiode``, ``waveguide``: as in `lightloom.models.rounds`.

    `circuits`: one row a circuit, with routes; their wavelengths are ignored.

    Infeasible means that these routes cannot be lit in one round; others may.
    """
    routes = [tuple(route) for route in circuits.lists("route").to_lists()]
    model = pyo.ConcreteModel("colouring")
    model.question = routes
    colours = range(fabric.lasers)
    model.colour = pyo.Var(range(len(routes)), colours, within=pyo.Binary)
    uses: dict[str, dict[tuple[int, ...], list[Variable]]] = {
        name: defaultdict(list) for name in ("laser", "photodiode", "waveguide")
    }
    for (circuit, w), variable in model.colour.items():
        route = routes[circuit]
        uses["laser"][route[0], w].append(variable)
        uses["photodiode"][route[-1], w].append(variable)
        for edge in route_edges(route):
            uses["waveguide"][(*edge, w)].append(variable)
    waveguides = open_edges(fabric)
    model.one = pyo.Constraint(
        range(len(routes)),
        rule=lambda m, k: (1, total(m.colour[k, w] for w in colours), 1),
    )
    for name, rows in uses.items():
        most = {key: waveguides[key[0], key[1]] if len(key) > 2 else 1 for key in rows}
        tight = [key for key in rows if len(rows[key]) > most[key]]
        row = pyo.Constraint(
            tight,
            rule=lambda _, *key, rows=rows, most=most: (
                None,
                total(rows[key]),
                most[key],
            ),
        )
        model.add_component(name, row)
    model.objective = pyo.Objective(expr=0)
    return model


def decode_colouring(model: Model) -> Circuits:
    """Return the circuits with the wavelengths of the model's values."""
    return light_paths(
        (model.question[k][0], model.question[k][-1], model.question[k], w)
        for (k, w), variable in model.colour.items()
        if round(variable.value or 0)
    )
