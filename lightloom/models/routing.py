"""Minimum-congestion routing: LUMORPH paper, Algorithm 2, in arc and in path form."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.core.columns import IntArray, Ragged, column
from lightloom.core.errors import InputError
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.models import ModelSize
from lightloom.models.candidate_routes import (
    candidate_routes,
    check_routes,
    most_routes,
    open_edges,
    route_edges,
)
from lightloom.models.deliveries import copy_question
from lightloom.models.linear_expression import difference, total, weighted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.instances.instance import Instance
    from lightloom.models.candidate_routes import Edge, Pair, Route, Routes
    from lightloom.models.linear_expression import Linear, Model, Variable


Stated: TypeAlias = "tuple[dict[Edge, list[Variable]], list[tuple[int, Variable]]]"
"""What runs over each edge, and the hops that each variable stands for."""
DEFAULT_PATHS = 4
"""Shortest paths a request may take: the model grows in proportion, and fewer leave
congestion that all paths would not."""


class Form(StrEnum):
    """How routes are stated."""

    ARCS = "arcs"
    """A variable for each request and edge: every route there is."""
    PATHS = "paths"
    """A variable for each request and candidate route."""


@dataclass(frozen=True)
class RoutingInput:
    """What a model of this module is about, for its decoder.

    `requests`: (source, destination) of each request; equal ones count each.
    `capacity`: how often each open edge may be shared at congestion 1. `routes`:
    candidate routes by pair; ``None`` in arc form.
    """

    requests: tuple[Pair, ...]
    capacity: dict[Edge, int]
    routes: Routes | None


@dataclass(frozen=True, eq=False)
class RoutingAnswer:
    """A route for each request.

    `src`, `dst`: ends, shape (requests,), in the order of the requests. `route`: tiles
    of each route, both ends included; every route is a simple path. `congestion`:
    largest ``ceil(load / capacity)`` of a directed edge.
    """

    src: IntArray
    dst: IntArray
    route: Ragged
    congestion: int


def build(
    instance: Instance,
    *,
    requests: Requests | None = None,
    form: str = Form.ARCS,
    paths: int | Routes = DEFAULT_PATHS,
    capacity: Mapping[Edge, int] | None = None,
    relaxed: bool = False,
    degrees: bool = False,
    tie_break: bool = False,
) -> Model:
    """Return Algorithm 2 for some requests as a Pyomo model.

    With e a directed edge, q a request, v a tile:

    - ``flow[q, e]`` (arc form): q runs over e. There are no variables for edges into
      its source or out of its destination, which is (14) and (15).
    - ``balance[q, v]``: what leaves v less what enters it is 1 at the source (13), -1
      at the destination, 0 elsewhere (10). At the destination (16) prints that
      nothing enters; the text beside it says, as it must be, that one unit does.
    - ``degree[q, v]`` on request: at most one unit enters a tile, and so leaves it,
      (11) and (12). Some optimum obeys them whether they are stated or not.
    - ``pick[q, i]`` (path form): q takes its candidate route i; ``one[q]``: just one.
    - ``share[e]``: the load of e is at most `congestion` times its capacity.

    `instance`: a demand on a LIGHTPATH fabric, one request a pair, or a collective that
    passes nothing on, one request a delivery. `requests`: (source, destination) pairs
    to route instead; repeated ones count each. `paths`: path form: candidate routes of
    every pair, or how many shortest ones to take. The optimum is one among these; other
    routes may do better. `capacity`: of each directed edge; 1 everywhere where
    ``None``, as in the paper. `relaxed`: drop integrality: the optimum is then a lower
    bound on the congestion; in arc form it is the best that edge lengths can prove.
    `tie_break`: among the least congestions ask for the fewest hops in all. The
    objective is then congestion times a number above all hops, plus hops.

    Raises `InputError` if the instance is of another problem, a variant or a tile does
    not exist, or there are to be fewer candidate routes than one; `InfeasibleError` if
    a request has no route.

    Arc form: requests * edges columns, requests * tiles rows.
    """
    if form not in list(Form):
        allowed = ", ".join(Form)
        raise InputError("unknown variant", where="form", found=form, allowed=allowed)
    most_routes(paths)
    fabric = _fabric(instance)
    wanted = routing_requests(instance, fabric, requests)
    edges = open_edges(fabric)
    room = {edge: 1 if capacity is None else capacity.get(edge, 0) for edge in edges}
    room = {edge: most for edge, most in room.items() if most > 0}
    # Reachability is asked for in either form: a reason beats an infeasible model.
    routes: Routes | None = None
    if form == Form.ARCS:
        candidate_routes(fabric, wanted, 1, room)
    elif isinstance(paths, int):
        routes = candidate_routes(fabric, wanted, paths, room)
    else:
        routes = check_routes(paths, wanted, room)
    model = pyo.ConcreteModel("routing")
    model.question = RoutingInput(wanted, room, routes)
    model.congestion = pyo.Var(
        within=pyo.Reals if relaxed else pyo.Integers, bounds=(0, len(wanted))
    )
    with PauseGC():
        state = _state_arcs if form == Form.ARCS else _state_paths
        over, hops = state(model, relaxed=relaxed, degrees=degrees)
        model.share = pyo.Constraint(
            sorted(over),
            rule=lambda m, *edge: (
                None,
                difference(over[edge], [m.congestion], room[edge]),
                0,
            ),
        )
    # No simple routes have as many hops as there are requests times tiles.
    above = len(wanted) * fabric.node_count
    terms = [(above, model.congestion), *hops] if tie_break else [(1, model.congestion)]
    model.objective = pyo.Objective(expr=weighted(terms))
    return model


def _state_arcs(model: Model, *, relaxed: bool, degrees: bool) -> Stated:
    """State the arc form."""
    question = model.question
    arcs = [
        (q, tail, head)
        for q, (src, dst) in enumerate(question.requests)
        for tail, head in question.capacity
        if head != src and tail != dst
    ]
    model.flow = pyo.Var(
        arcs,
        within=pyo.UnitInterval if relaxed else pyo.Binary,
    )
    out, into, over = (defaultdict(list) for _ in range(3))
    for q, tail, head in arcs:
        variable = model.flow[q, tail, head]
        out[q, tail].append(variable)
        into[q, head].append(variable)
        over[tail, head].append(variable)

    def balance(m: Model, q: int, node: int) -> tuple[int, Linear, int]:
        src, dst = m.question.requests[q]
        surplus = (node == src) - (node == dst)
        return surplus, difference(out[q, node], into[q, node]), surplus

    touched = sorted(out.keys() | into.keys())
    model.balance = pyo.Constraint(touched, rule=balance)
    if degrees:
        model.degree = pyo.Constraint(
            [(q, v) for q, v in touched if len(into[q, v]) > 1],
            rule=lambda _, q, v: (None, total(into[q, v]), 1),
        )
    return over, [(1, variable) for variable in model.flow.values()]


def _state_paths(model: Model, *, relaxed: bool, degrees: bool) -> Stated:
    """State the path form; degrees of its routes are right already."""
    del degrees
    question = model.question
    choices = [
        (q, i)
        for q, pair in enumerate(question.requests)
        for i in range(len(question.routes[pair]))
    ]
    model.pick = pyo.Var(choices, within=pyo.UnitInterval if relaxed else pyo.Binary)
    options, over = defaultdict(list), defaultdict(list)
    for q, i in choices:
        options[q].append(model.pick[q, i])
        for edge in route_edges(question.routes[question.requests[q]][i]):
            over[edge].append(model.pick[q, i])
    model.one = pyo.Constraint(
        list(options), rule=lambda _, q: (1, total(options[q]), 1)
    )
    hops = [
        (len(question.routes[question.requests[q]][i]) - 1, model.pick[q, i])
        for q, i in choices
    ]
    return over, hops


def decode(model: Model) -> RoutingAnswer:
    """Return the routes that the values of a model's variables stand for.

    In arc form each route is a shortest one over the edges its request has: cycles,
    apart from it or along it, cost nothing in the model and are left out.
    """
    question = model.question
    routes = _picked(model) if question.routes is not None else _traced(model)
    load = Counter(edge for route in routes for edge in route_edges(route))
    return RoutingAnswer(
        column(src for src, _ in question.requests),
        column(dst for _, dst in question.requests),
        Ragged.from_lists(routes),
        max((-(-n // question.capacity[edge]) for edge, n in load.items()), default=0),
    )


def _picked(model: Model) -> list[Route]:
    """Return the candidate routes that were picked."""
    question = model.question
    return [
        question.routes[question.requests[q]][i]
        for (q, i), variable in model.pick.items()
        if round(variable.value or 0)
    ]


def _traced(model: Model) -> list[Route]:
    """Return a route over the edges of each request."""
    import networkx as nx

    used: dict[int, list[Edge]] = defaultdict(list)
    for (q, tail, head), variable in model.flow.items():
        if round(variable.value or 0):
            used[q].append((tail, head))
    return [
        tuple(nx.shortest_path(nx.DiGraph(used[q]), src, dst))
        for q, (src, dst) in enumerate(model.question.requests)
    ]


def _fabric(instance: Instance) -> Lightpath:
    """Return the grid, or raise `InputError`."""
    fabric = instance.fabric
    if not isinstance(fabric, Lightpath):
        what, allowed = "the model is about light paths", "lightpath"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed=allowed)
    return fabric


def size(
    instance: Instance,
    *,
    requests: Requests | None = None,
    form: str = Form.ARCS,
    paths: int | Routes = DEFAULT_PATHS,
    **_: object,
) -> ModelSize:
    """Return an upper estimate of the size that `build` would give a model.

    Raises `InputError` if it is of another one.
    """
    fabric = _fabric(instance)
    count = len(routing_requests(instance, fabric, requests))
    edges = len(open_edges(fabric))
    instead = "`lightloom synth`, which routes by negotiation and proves by cuts"
    most = most_routes(paths)
    if form == Form.ARCS:
        columns = count * edges
        rows = count * fabric.node_count + edges
        return ModelSize(rows, columns + 1, 3 * columns + edges, instead)
    hops = fabric.rows + fabric.cols
    return ModelSize(
        count + edges, count * most + 1, count * most * (1 + hops) + edges, instead
    )


def objective(answer: RoutingAnswer) -> Fraction:
    """Return the objective of Algorithm 2: the congestion."""
    return Fraction(answer.congestion)


Requests: TypeAlias = "Sequence[Pair]"


def routing_requests(
    instance: Instance, fabric: Lightpath, given: Requests | None = None
) -> tuple[Pair, ...]:
    """Return the pairs to route, in order: those given, or those of the instance.

    `given`: (source, destination) pairs instead, repeats counting each.

    Raises `InputError` if a pair is none of two tiles, or the instance has no pairs of
    its own.
    """
    if given is None and instance.requests is not None:
        given = list(instance.requests)
    elif given is None and isinstance(instance.task, Demand):
        given = list(zip(instance.task.src, instance.task.dst, strict=True))
    elif given is None:
        reduces = isinstance(instance.task, Collective) and op_of(instance.task).reduces
        deliveries = None if reduces else copy_question(instance)[1]
        if deliveries is None or not deliveries.one_hop:
            what = "what such a collective routes depends on its algorithm"
            fix = (
                "--set collective.op=all-to-all, scatter or gather; or give a [demand]"
            )
            raise InputError(what, where="collective.op", fix=fix)
        given = [
            (deliveries.holders[chunk][0], nodes[0])
            for chunk, nodes in deliveries.lacking.items()
        ]
    for row, pair in enumerate(given):
        if pair[0] == pair[1] or not all(0 <= end < fabric.node_count for end in pair):
            what = "not two different tiles of the grid"
            raise InputError(what, where=f"requests, row {row}", found=pair)
    return tuple(given)
