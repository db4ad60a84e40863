"""Algorithms 1 and 2 as printed: each doubtful equation, alone, breaks an example.

The models here have one variable for each round, pair, chunk, route and wavelength,
as the paper does, and state each equation either as printed or as it must be meant.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyomo.environ as pyo
import pytest

from lightloom.core.outcome import Reason
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.models.candidate_routes import candidate_routes, open_edges, route_edges
from lightloom.models.deliveries import Deliveries, copy_question
from lightloom.models.rounds import (
    RoundAnswer,
    RoundsAnswer,
    build,
    copies,
    light_paths,
    rounds_schedule,
)
from lightloom.models.routing import build as build_routing
from lightloom.solvers import run
from lightloom.validate import verify
from tests.examples.collectives_on_grids import grid

if TYPE_CHECKING:
    from lightloom.models.linear_expression import Model


def _algorithm_1(instance: Instance, horizon: int, printed: frozenset[int]) -> Model:
    """Return Algorithm 1 with the equations in `printed` as the paper has them."""
    fabric, task = copy_question(instance)
    nodes = sorted({node for c in task.holders for node in task.senders(c)})
    pairs = list(itertools.permutations(nodes, 2))
    m = pyo.ConcreteModel()
    m.routes = candidate_routes(fabric, pairs, 2)
    m.C = pyo.Var(
        [
            (r, s, d, c, i, w)
            for r in range(horizon)
            for s, d in pairs
            for c in task.holders
            for i in range(len(m.routes[s, d]))
            for w in range(fabric.lasers)
        ],
        within=pyo.Binary,
    )
    m.R = pyo.Var(range(horizon), within=pyo.Binary)
    m.objective = pyo.Objective(expr=sum(m.R[r] for r in range(horizon)))
    m.rows = pyo.ConstraintList()
    for key, circuit in m.C.items():
        m.rows.add(circuit <= m.R[key[0]])  # (7)
    for r in range(1, horizon):
        m.rows.add(m.R[r] <= m.R[r - 1])  # (9)
    _state_resources(m, fabric, printed)
    _state_data(m, task, nodes, printed)
    return m


def _state_resources(m: Model, fabric: Lightpath, printed: frozenset[int]) -> None:
    """State (1), (4), (5) and (6)."""
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for (r, s, d, c, i, w), circuit in m.C.items():
        groups[1, r, s, d, c].append(circuit)
        groups[4, r, s, w].append(circuit)
        groups[5, r, d, w].append(circuit)
        for edge in route_edges(m.routes[s, d][i]):
            groups[6, r, edge, w].append(circuit)
    waveguides = open_edges(fabric)
    for (equation, *place), circuits in groups.items():
        most = waveguides[place[1]] if equation == 6 else 1
        lit = sum(circuits)
        m.rows.add(lit == most if equation in printed else lit <= most)


def _state_data(
    m: Model, task: Deliveries, nodes: list[int], printed: frozenset[int]
) -> None:
    """State (2) and (3)."""
    for (r, s, _, c, *_), circuit in m.C.items():
        if 2 in printed or s not in task.holders[c]:
            got = [
                other
                for (q, o, d, b, *_), other in m.C.items()
                if q < r and d == s and b == c and o in task.senders(c)
            ]
            m.rows.add(pyo.inequality(None, circuit - sum(got), 0))
    for c, lacking in task.lacking.items():
        into = {d: [v for key, v in m.C.items() if key[2:4] == (d, c)] for d in nodes}
        if 3 in printed:
            m.rows.add(sum(v for d in task.senders(c) for v in into[d]) == 1)
            continue
        for d in nodes:
            m.rows.add(sum(into[d]) == (1 if d in lacking else 0))


def _rounds(instance: Instance, horizon: int, *printed: int) -> float | None:
    """Return the fewest rounds, ``None`` where there are none within `horizon`."""
    outcome = run(_algorithm_1(instance, horizon, frozenset(printed)), "highs")
    assert outcome.reason in (Reason.PROVEN_OPTIMAL, Reason.PROVEN_INFEASIBLE)
    return outcome.objective


@pytest.mark.parametrize(
    "instance",
    [
        grid(1, 2, "all-gather"),
        grid(1, 3, "broadcast", lasers=1),
        grid(2, 2, "all-gather", lasers=1),
        grid(2, 2, "all-to-all", lasers=1),
        grid(1, 3, "gather", lasers=1),
    ],
)
def test_one_variable_per_everything_agrees_when_corrected(instance: Instance) -> None:
    """The corrected equations in the paper's variables give our model's rounds."""
    ours = run(build(instance, horizon=4), "highs")
    assert ours.reason is Reason.PROVEN_OPTIMAL
    assert _rounds(instance, 4) == ours.objective


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_equation_2_printed_lets_nobody_begin(horizon: int) -> None:
    """Two tiles, one chunk: its holder never *received* it, so it may not send it."""
    instance = grid(1, 2, "broadcast", lasers=1)
    assert _rounds(instance, horizon) == 1
    assert _rounds(instance, horizon, 2) is None


def test_equation_3_printed_forgets_receivers() -> None:
    """Three tiles, one chunk: delivered once in all, so one tile goes without."""
    instance = grid(1, 3, "broadcast", lasers=2)
    model = _algorithm_1(instance, 2, frozenset({3}))
    assert run(model, "highs").objective == 1
    _, task = copy_question(instance)
    sent = [key for key, variable in model.C.items() if round(variable.value or 0)]
    answer = RoundsAnswer(
        task.collective,
        tuple(
            RoundAnswer(
                copies((s, d, c) for q, s, d, c, _, _ in sent if q == r),
                light_paths(
                    (s, d, model.routes[s, d][i], w)
                    for q, s, d, _, i, w in sent
                    if q == r
                ),
            )
            for r in sorted({key[0] for key in sent})
        ),
    )
    rules = {one.rule for one in verify(rounds_schedule(instance, answer)).violations}
    assert "post-condition-missing" in rules


@pytest.mark.parametrize("printed", [(4,), (5,), (4, 5)])
def test_equations_4_and_5_printed_allow_no_idle_laser(
    printed: tuple[int, ...],
) -> None:
    """Two tiles with two lasers and one chunk each: a laser would have to idle."""
    instance = grid(1, 2, "all-gather", lasers=2)
    assert _rounds(instance, 3) == 1
    assert _rounds(instance, 3, *printed) is None


def _algorithm_2(entering: int) -> Model:
    """Return Algorithm 2 for one request 0 -> 1 on two tiles; (16) prints 0."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([(0, 1), (1, 0)], within=pyo.Binary)
    m.most = pyo.Var(within=pyo.NonNegativeIntegers, bounds=(0, 1))
    m.share = pyo.Constraint(list(m.x), rule=lambda m, *e: m.x[e] <= m.most)
    m.source_out = pyo.Constraint(expr=m.x[0, 1] == 1)  # (13)
    m.source_in = pyo.Constraint(expr=m.x[1, 0] <= 0)  # (14), and (15)
    m.sink_in = pyo.Constraint(expr=m.x[0, 1] == entering)  # (16)
    m.objective = pyo.Objective(expr=m.most)
    return m


def test_equation_16_printed_lets_nothing_arrive() -> None:
    """What leaves the source can end nowhere; with one unit arriving it can."""
    assert run(_algorithm_2(0), "highs").reason is Reason.PROVEN_INFEASIBLE
    assert run(_algorithm_2(1), "highs").objective == 1
    instance = Instance(Lightpath(rows=1, cols=2), Demand((0,), (1,), (8,)), "two")
    assert run(build_routing(instance), "highs").objective == 1
