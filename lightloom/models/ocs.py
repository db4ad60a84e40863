"""Circuits of parallel optical switches: SiP-ML paper, appendix A.2."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.core.circuit import Circuits
from lightloom.core.columns import column
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fluid_schedule import (
    circuits_by_pair,
    exact_schedule,
    sizes_by_pair,
)
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.models import ModelSize
from lightloom.models.linear_expression import total
from lightloom.models.slowest_pair import (
    Statement,
    bottleneck,
    demand_of,
    maximise_slowest,
    put_in_order,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance
    from lightloom.models.linear_expression import Model, Variable
    from lightloom.models.slowest_pair import Pair


@dataclass(frozen=True)
class OcsInput:
    """What a model of this module is about, for its decoder."""

    fabric: Ocs
    demand: Demand


@dataclass(frozen=True, eq=False)
class OcsAnswer:
    """What every switch holds.

    `switches`: circuits of each switch, sorted by (src, dst). Where circuits are
    bidirectional the circuit back is there too, asked for or not.
    """

    demand: Demand
    switches: tuple[Circuits, ...]


def build(
    instance: Instance, *, statement: str = Statement.LEVELS, pinned: bool = False
) -> Model:
    """Return A.2 for a demand on optical circuit switches as a Pyomo model.

    ``lit[k, i, j]`` is the paper's P_ijk: switch k joins i to j. There are variables
    for pairs with traffic only, as other circuits serve nothing.

    - ``enter[k, j]``: at most one circuit enters a node on a switch (1).
    - ``leave[k, i]``: at most one leaves it (2).
    - ``port[k, i]``, instead of both where the fabric's circuits are bidirectional: at
      most one circuit ends at a node on a switch; i < j in ``lit`` then, and the
      circuit serves both ways. What a switch holds is a matching.
    - ``serve``, ``reach``: the objective, see `lightloom.models.slowest_pair`.

    `pinned`: break symmetry: the partners of the busiest node are put in order of
    switches, as those can be permuted freely.

    Raises `InputError` if the instance is of another problem, or a variant unknown;
    `InfeasibleError` if a node has more partners than there are switches, naming row or
    column.

    pairs * switches columns, and at most pairs * switches more of levels.
    """
    fabric, demand = _question(instance)
    sizes = sizes_by_pair(demand)
    _refuse_crowd(fabric, demand, instance.name)
    joined = {pair: _joined(fabric, pair) for pair in sizes}
    pairs = sorted(set(joined.values()))
    model = pyo.ConcreteModel("ocs")
    model.question = OcsInput(fabric, demand)
    switches = range(fabric.switches)
    with PauseGC():
        model.lit = pyo.Var(
            [(k, *pair) for k in switches for pair in pairs], within=pyo.Binary
        )
        ends: dict[str, dict[tuple[int, int], list[Variable]]]
        ends = defaultdict(lambda: defaultdict(list))
        of_pair = defaultdict(list)
        for (k, i, j), circuit in model.lit.items():
            leave, enter = ("port",) * 2 if fabric.bidirectional else ("leave", "enter")
            ends[leave][k, i].append(circuit)
            ends[enter][k, j].append(circuit)
            of_pair[i, j].append(circuit)
        for name, rows in sorted(ends.items()):
            limit = pyo.Constraint(
                [key for key in rows if len(rows[key]) > 1],
                rule=lambda _, *key, rows=rows: (None, total(rows[key]), 1),
            )
            model.add_component(name, limit)
        maximise_slowest(
            model,
            {pair: of_pair[joined[pair]] for pair in sizes},
            sizes,
            fabric.switches,
            statement,
        )
        if pinned and sizes:
            name, (_, node) = max(
                ((name, key) for name in sorted(ends) for key in sorted(ends[name])),
                key=lambda found: len(ends[found[0]][found[1]]),
            )
            put_in_order(model, [ends[name][k, node] for k in switches])
    return model


def decode(model: Model) -> OcsAnswer:
    """Return the switches that the values of a model's variables stand for."""
    question = model.question
    held: list[list[Pair]] = [[] for _ in range(question.fabric.switches)]
    for (k, i, j), circuit in model.lit.items():
        if round(circuit.value or 0):
            held[k].append((i, j))
            if question.fabric.bidirectional:
                held[k].append((j, i))
    return OcsAnswer(
        question.demand,
        tuple(
            Circuits(column(i for i, _ in rows), column(j for _, j in rows))
            for rows in map(sorted, held)
        ),
    )


def objective(answer: OcsAnswer) -> Fraction:
    """Return the least circuits a byte of all pairs, exactly."""
    found: Counter[Pair] = Counter()
    for circuits in answer.switches:
        found.update(circuits_by_pair(circuits))
    return bottleneck(found, sizes_by_pair(answer.demand))


def schedule(instance: Instance, answer: OcsAnswer) -> Schedule:
    """Return the demand served on an answer's circuits, all at once."""
    return exact_schedule(instance.fabric, answer.demand, answer.switches)


def size(instance: Instance, **_: object) -> ModelSize:
    """Return an upper estimate of the size that `build` would give a model.

    Raises `InputError` if it is of another one.
    """
    fabric, demand = _question(instance)
    pairs = len(demand.src)
    circuits = levels = pairs * fabric.switches
    rows = pairs + levels + 2 * fabric.switches * min(fabric.nodes, pairs)
    instead = "fewer pairs or switches: they multiply"
    return ModelSize(rows, circuits + levels, 3 * circuits + 3 * levels, instead)


def _question(instance: Instance) -> tuple[Ocs, Demand]:
    """Return the fabric and the demand, or raise `InputError`."""
    fabric = instance.fabric
    if not isinstance(fabric, Ocs):
        what = "the model is about optical circuit switches"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed="ocs")
    return fabric, demand_of(instance)


def _joined(fabric: Ocs, pair: Pair) -> Pair:
    """Return the pair as which a circuit of two nodes is stated."""
    return (min(pair), max(pair)) if fabric.bidirectional else pair


def _refuse_crowd(fabric: Ocs, demand: Demand, name: str) -> None:
    """Raise if a node has more partners than switches: someone would go without."""
    pairs = list(zip(demand.src, demand.dst, strict=True))
    if not pairs:
        return
    sides = [
        ("row", "sends to", Counter(src for src, _ in pairs)),
        ("column", "receives from", Counter(dst for _, dst in pairs)),
    ]
    if fabric.bidirectional:
        both = {_joined(fabric, pair) for pair in pairs}
        ends = Counter(node for pair in sorted(both) for node in pair)
        sides = [("row and column", "talks to", ends)]
    for side, does, partners in sides:
        node, most = max(partners.items(), key=lambda found: (found[1], -found[0]))
        if most > fabric.switches:
            raise InfeasibleError(
                f"node {node} {does} {most} others, and has one circuit on each of"
                f" {fabric.switches} switches",
                where=f"{name}: demand, {side} {node}",
                found=most,
                allowed=f"at most {fabric.switches}",
                fix="more switches, or configurations that take turns",
            )
