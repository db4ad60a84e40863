"""Wavelengths of a ring: SiP-ML paper, appendix A.1."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.fluid_schedule import (
    circuits_by_pair,
    exact_schedule,
    sizes_by_pair,
)
from lightloom.instances.fabrics.ring import Ring
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

Way: TypeAlias = tuple[int, int, int]
"""(source, destination, direction)."""


@dataclass(frozen=True)
class RingInput:
    """What a model of this module is about, for its decoder."""

    fabric: Ring
    demand: Demand


@dataclass(frozen=True, eq=False)
class RingAnswer:
    """Circuits of the ring.

    `circuits`: sorted by (src, dst, direction), the wavelengths of a way in one row.
    """

    demand: Demand
    circuits: Circuits


def build(
    instance: Instance, *, statement: str = Statement.LEVELS, pinned: bool = False
) -> Model:
    """Return A.1 for a demand on a ring as a Pyomo model.

    ``lit[i, j, d, w]``: i sends to j on wavelength w, going in direction d: the paper's
    Lambda_ijw, with the fibre said too. There are variables for pairs with traffic,
    and for ways within the fabric's reach. A wavelength is the same on all spans.

    - ``span[d, s, w]``: a span carries a wavelength once (ring constraint).
    - ``laser[i, w]``, ``photodiode[j, w]``: a wavelength leaves a node, and enters it,
      at most once (node constraint). Stated where one transceiver serves two
      directions; elsewhere the first and the last span of a way imply it.
    - ``serve``, ``reach``: the objective, see `lightloom.models.slowest_pair`.

    `pinned`: break symmetry: the circuits across the busiest span are put in order of
    wavelengths, as those can be permuted freely.

    Raises `InputError` if the instance is of another problem, or a variant unknown;
    `InfeasibleError` if a pair is out of reach, a node has more partners than lasers,
    or more pairs must cross a span than there are wavelengths; which one is named.

    pairs * directions * wavelengths columns, and at most as many of levels.
    """
    fabric, demand = _question(instance)
    sizes = sizes_by_pair(demand)
    ways = _ways(fabric, demand, instance.name)
    _refuse_crowd(fabric, demand, ways, instance.name)
    model = pyo.ConcreteModel("ring")
    model.question = RingInput(fabric, demand)
    colours = range(fabric.wavelengths)
    spans = {way: fabric.spans(*way) for several in ways.values() for way in several}
    with PauseGC():
        model.lit = pyo.Var(
            [(*way, w) for way in spans for w in colours], within=pyo.Binary
        )
        rivals: dict[str, dict[tuple[int, ...], list[Variable]]]
        rivals = defaultdict(lambda: defaultdict(list))
        of_pair = defaultdict(list)
        for (i, j, d, w), circuit in model.lit.items():
            of_pair[i, j].append(circuit)
            for s in spans[i, j, d]:
                rivals["span"][d, s, w].append(circuit)
            if fabric.transceivers < fabric.directions:
                rivals["laser"][i, w].append(circuit)
                rivals["photodiode"][j, w].append(circuit)
        for name, rows in rivals.items():
            limit = pyo.Constraint(
                [key for key in rows if len(rows[key]) > 1],
                rule=lambda _, *key, rows=rows: (None, total(rows[key]), 1),
            )
            model.add_component(name, limit)
        most = fabric.ports_per_node
        maximise_slowest(model, of_pair, sizes, most, statement)
        if pinned and sizes:
            crossed = rivals["span"]
            d, s, _ = max(sorted(crossed), key=lambda key: len(crossed[key]))
            put_in_order(model, [crossed[d, s, w] for w in colours])
    return model


def decode(model: Model) -> RingAnswer:
    """Return the circuits that the values of a model's variables stand for."""
    lit: dict[Way, list[int]] = defaultdict(list)
    for (*way, w), circuit in model.lit.items():
        if round(circuit.value or 0):
            i, j, d = way
            lit[i, j, d].append(w)
    ways = sorted(lit)
    circuits = Circuits(
        column(i for i, _, _ in ways),
        column(j for _, j, _ in ways),
        Ragged.from_lists([sorted(lit[way]) for way in ways]),
        direction=column(d for _, _, d in ways),
    )
    return RingAnswer(model.question.demand, circuits)


def objective(answer: RingAnswer) -> Fraction:
    """Return the least circuits a byte of all pairs, exactly."""
    return bottleneck(circuits_by_pair(answer.circuits), sizes_by_pair(answer.demand))


def schedule(instance: Instance, answer: RingAnswer) -> Schedule:
    """Return the demand served on an answer's circuits, all at once."""
    return exact_schedule(instance.fabric, answer.demand, [answer.circuits])


def size(instance: Instance, **_: object) -> ModelSize:
    """Return an upper estimate of the size that `build` would give a model.

    Raises `InputError` if it is of another one.
    """
    fabric, demand = _question(instance)
    pairs = len(demand.src)
    circuits = levels = pairs * fabric.directions * fabric.wavelengths
    keys = (
        fabric.directions * min(fabric.nodes, pairs * fabric.reach) + 2 * fabric.nodes
    )
    rows = pairs + levels + keys * fabric.wavelengths
    hops = min(fabric.reach, fabric.nodes)
    instead = "fewer pairs or wavelengths: they multiply"
    entries = circuits * (hops + 3) + 3 * levels
    return ModelSize(rows, circuits + levels, entries, instead)


def _question(instance: Instance) -> tuple[Ring, Demand]:
    """Return the fabric and the demand, or raise `InputError`."""
    fabric = instance.fabric
    if not isinstance(fabric, Ring):
        what = "the model is about a ring"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed="ring")
    return fabric, demand_of(instance)


def _ways(fabric: Ring, demand: Demand, name: str) -> dict[Pair, list[Way]]:
    """Return the ways of each pair within reach, or raise if one has none."""
    ways: dict[Pair, list[Way]] = {}
    for row, pair in enumerate(zip(demand.src, demand.dst, strict=True)):
        every = [(*pair, direction) for direction in range(fabric.directions)]
        hops = [len(fabric.spans(*way)) for way in every]
        ways[pair] = [
            way for way, far in zip(every, hops, strict=True) if far <= fabric.reach
        ]
        if not ways[pair]:
            raise InfeasibleError(
                f"node {pair[1]} is out of reach of node {pair[0]}",
                where=f"{name}: demand row {row}",
                found=f"{min(hops)} spans",
                allowed=f"at most {fabric.reach}",
                fix="place them nearer to each other",
            )
    return ways


def _refuse_crowd(
    fabric: Ring, demand: Demand, ways: dict[Pair, list[Way]], name: str
) -> None:
    """Raise if more pairs need something than there are wavelengths for."""
    if not ways:
        return
    lasers = fabric.ports_per_node
    for side, does, nodes in (
        ("row", "sends to", demand.src),
        ("column", "receives from", demand.dst),
    ):
        node, most = max(Counter(nodes).items(), key=lambda one: (one[1], -one[0]))
        if most > lasers:
            what = f"node {node} {does} {most} others, one wavelength each at least"
            where, allowed = f"{name}: demand, {side} {node}", f"at most {lasers}"
            raise InfeasibleError(what, where=where, found=most, allowed=allowed)
    forced = [several[0] for several in ways.values() if len(several) == 1]
    crossing = Counter((way[2], span) for way in forced for span in fabric.spans(*way))
    for (direction, span), most in sorted(crossing.items()):
        if most > fabric.wavelengths:
            pairs = [
                f"{way[0]} -> {way[1]}"
                for way in forced
                if way[2] == direction and span in fabric.spans(*way)
            ]
            raise InfeasibleError(
                f"{most} pairs must cross one span, one wavelength each at least",
                where=f"{name}: demand, span {span} in direction {direction}",
                found=", ".join([*pairs[:4], *(["..."] if len(pairs) > 4 else [])]),
                allowed=f"at most {fabric.wavelengths}",
            )
