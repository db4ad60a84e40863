"""A demand divided among configurations of a LIGHTPATH rack."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.core.errors import InputError
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.models import ModelSize
from lightloom.models.linear_expression import total, weighted
from lightloom.models.slowest_pair import demand_of

if TYPE_CHECKING:
    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance
    from lightloom.models.linear_expression import Model


@dataclass(frozen=True)
class DivisionInput:
    """What a model of this module is about, for its decoder."""

    fabric: Lightpath
    demand: Demand


@dataclass(frozen=True)
class DivisionAnswer:
    """How long configurations last, and who has how much.

    `durations_ps`: how long data move in each configuration that is used.
    `wavelengths`: of each pair in each of them.
    """

    fabric: Lightpath
    durations_ps: tuple[int, ...]
    wavelengths: tuple[tuple[int, ...], ...]


def build(instance: Instance, *, count: int = 2) -> Model:
    """Return the division of a demand among at most so many configurations.

    What tiles send and receive limits wavelengths; waveguides do not, so the optimum
    is a lower bound where they are few.

    - ``held[p, k, n]``: pair p has n wavelengths of configuration k; ``one[p, k]``: of
      these numbers it is one.
    - ``send[i, k]``, ``receive[j, k]``: a tile has a laser, and a photodiode, for each.
    - ``lasts[k]``: how long data move, in picoseconds, the longest first (``order``).
    - ``lit[p, k, n]``: that where p has n wavelengths, else 0 (``none``, ``long``).
    - ``moves[p, k]``: whole bytes, as many as the wavelengths carry (``carry``);
      ``serve[p]``: all of them.
    - ``used[k]``: whether it lasts at all (``pay``); each that is used costs an alpha
      and, but for the first, a reconfiguration.

    Raises `InputError` if the instance is of another problem.

    2 * pairs * count * lasers columns; the relaxation is weak: for a handful of pairs.
    """
    fabric, demand = _question(instance)
    pairs, places = range(len(demand.src)), range(count)
    units = range(1, fabric.lasers + 1)
    rate = fabric.bits_per_second_per_wavelength
    longest = [transmission_ps(size, rate) for size in demand.bytes]
    most = max(longest, default=0)
    share = math.gcd(rate, BITS_PER_BYTE * PS_PER_S)
    model = pyo.ConcreteModel("demand-configurations")
    model.question = DivisionInput(fabric, demand)
    with PauseGC():
        model.held = pyo.Var(pairs, places, units, within=pyo.Binary)
        model.lit = pyo.Var(
            pairs,
            places,
            units,
            within=pyo.Integers,
            bounds=lambda _, p, *__: (0, longest[p]),
        )
        model.lasts = pyo.Var(places, within=pyo.Integers, bounds=(0, most))
        model.used = pyo.Var(places, within=pyo.Binary)
        model.moves = pyo.Var(
            pairs,
            places,
            within=pyo.Integers,
            bounds=lambda _, p, __: (0, demand.bytes[p]),
        )
        model.one = pyo.Constraint(
            pairs, places, rule=lambda m, p, k: (0, total(m.held[p, k, :]), 1)
        )
        ends = defaultdict(list)
        for p in pairs:
            for name, end in (("send", demand.src[p]), ("receive", demand.dst[p])):
                ends[name, end].append(p)
        for name in ("send", "receive"):
            rows = {end: each for (side, end), each in ends.items() if side == name}
            limit = pyo.Constraint(
                sorted(rows),
                places,
                rule=lambda m, end, k, rows=rows: (
                    None,
                    weighted((n, m.held[p, k, n]) for p in rows[end] for n in units),
                    fabric.lasers,
                ),
            )
            model.add_component(name, limit)
        model.none = pyo.Constraint(
            pairs,
            places,
            units,
            rule=lambda m, p, k, n: (
                None,
                weighted([(1, m.lit[p, k, n]), (-longest[p], m.held[p, k, n])]),
                0,
            ),
        )
        model.long = pyo.Constraint(
            pairs,
            places,
            units,
            rule=lambda m, p, k, n: (
                None,
                weighted([(1, m.lit[p, k, n]), (-1, m.lasts[k])]),
                0,
            ),
        )
        model.carry = pyo.Constraint(
            pairs,
            places,
            rule=lambda m, p, k: (
                0,
                weighted(
                    [
                        (-(BITS_PER_BYTE * PS_PER_S // share), m.moves[p, k]),
                        *((n * rate // share, m.lit[p, k, n]) for n in units),
                    ]
                ),
                None,
            ),
        )
        model.serve = pyo.Constraint(
            pairs, rule=lambda m, p: (demand.bytes[p], total(m.moves[p, :]), None)
        )
        model.order = pyo.Constraint(
            places[1:],
            rule=lambda m, k: (
                0,
                weighted([(1, m.lasts[k - 1]), (-1, m.lasts[k])]),
                None,
            ),
        )
        model.pay = pyo.Constraint(
            places,
            rule=lambda m, k: (
                None,
                weighted([(1, m.lasts[k]), (-most, m.used[k])]),
                0,
            ),
        )
        each_ps = fabric.alpha_ps + fabric.reconfiguration_ps
        model.objective = pyo.Objective(
            expr=weighted(
                [
                    *((1, model.lasts[k]) for k in places),
                    *((each_ps, model.used[k]) for k in places),
                ]
            )
        )
    return model


def decode(model: Model) -> DivisionAnswer:
    """Return the division that the values of a model's variables stand for."""
    question = model.question
    lasts = {k: round(each.value or 0) for k, each in model.lasts.items()}
    used = [k for k, time_ps in lasts.items() if time_ps]
    held: dict[tuple[int, int], int] = defaultdict(int)
    for (p, k, n), each in model.held.items():
        held[p, k] += n * round(each.value or 0)
    return DivisionAnswer(
        question.fabric,
        tuple(lasts[k] for k in used),
        tuple(tuple(held[p, k] for k in used) for p in range(len(question.demand.src))),
    )


def objective(answer: DivisionAnswer) -> int:
    """Return the completion time of an answer in picoseconds."""
    fabric, count = answer.fabric, len(answer.durations_ps)
    first_ps = fabric.reconfiguration_ps * fabric.initial_configuration_charged
    between_ps = max(0, count - 1) * fabric.reconfiguration_ps
    moving_ps = sum(answer.durations_ps) + count * fabric.alpha_ps
    return (first_ps if count else 0) + between_ps + moving_ps


def size(instance: Instance, *, count: int = 2) -> ModelSize:
    """Return an upper estimate of the size that `build` would give a model.

    Raises `InputError` if it is of another one.
    """
    fabric, demand = _question(instance)
    cells = len(demand.src) * count
    columns = cells * (2 * fabric.lasers + 1) + 2 * count
    rows = cells * (2 * fabric.lasers + 2) + len(demand.src)
    rows += 2 * count * (fabric.node_count + 1)
    instead = "fewer pairs or lasers: they multiply; or --algorithm configurations"
    return ModelSize(rows, columns, 9 * cells * fabric.lasers, instead)


def _question(instance: Instance) -> tuple[Lightpath, Demand]:
    """Return the fabric and the demand, or raise `InputError`."""
    fabric = instance.fabric
    if not isinstance(fabric, Lightpath):
        what = "the model is about LIGHTPATH racks"
        raise InputError(
            what, where="fabric.kind", found=fabric.kind, allowed="lightpath"
        )
    if fabric.dark_while_reconfiguring != "plane":
        what = "the model is about racks that are dark while they are reconfigured"
        found = fabric.dark_while_reconfiguring
        raise InputError(
            what, where="fabric.dark_while_reconfiguring", found=found, allowed="plane"
        )
    return fabric, demand_of(instance)
