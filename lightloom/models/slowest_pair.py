"""The max-min of circuits a byte, stated with integers alone.

Both SiP-ML programs maximise ``min over pairs of n[pair] / bytes[pair]``, n the number
of circuits of a pair. As n is an integer of 1 to `most`, the minimum is one of the
fractions ``c / bytes[pair]``. Sorted, t[0] < t[1] < ..., they are *levels*, and
``reach[k]``, k >= 1, says that the minimum is t[k] or more:

    n[pair] >= 1 + sum over c < most of reach[first k with t[k] > c / bytes[pair]],
    reach[k] <= reach[k - 1], maximise sum reach[k].

A pair needs ceil(t bytes) circuits for a minimum of t, and the terms in use at level k
are the c < t[k] bytes: exactly as many. So the optimum is exact whatever tolerances a
solver has, and solvers of integers can be asked. `Statement.RATIO` is the program as
printed, with the minimum a real variable: the same optimum up to tolerances.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.models.linear_expression import difference, total, weighted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.instances.instance import Instance
    from lightloom.models.linear_expression import Linear, Model, Variable

Pair: TypeAlias = tuple[int, int]


class Statement(StrEnum):
    """How the objective is stated."""

    LEVELS = "levels"
    """Rank of the minimum among the fractions that it can be: integers only."""
    RATIO = "ratio"
    """The minimum itself, in circuits for the bytes of the largest pair."""


def demand_of(instance: Instance) -> Demand:
    """Return the traffic matrix of an instance.

    Raises `InputError` if the task is no demand.
    """
    task = instance.task
    if not isinstance(task, Demand):
        what = "the model serves a traffic matrix"
        raise InputError(what, where=instance.name, fix="give a [demand]")
    return task


def bottleneck(circuits: Mapping[Pair, int], sizes: Mapping[Pair, int]) -> Fraction:
    """Return the least circuits a byte of all pairs, exactly; 0 where there is none.

    `circuits`: number of circuits by (source, destination); 0 where a pair is missing.
    `sizes`: bytes by (source, destination), at least 1, of the pairs that count.
    """
    ratios = (Fraction(circuits.get(pair, 0), size) for pair, size in sizes.items())
    return min(ratios, default=Fraction(0))


def levels(sizes: Sequence[int], most: int) -> list[Fraction]:
    """Return every value that the minimum can have, sorted, all pairs being served."""
    # None is below one circuit of the largest pair, or above all it can have.
    largest = max(sizes)
    found = {
        Fraction(count, size)
        for size in set(sizes)
        for count in range(-(-size // largest), most * size // largest + 1)
    }
    return sorted(found)


def maximise_slowest(
    model: Model,
    circuits: Mapping[Pair, Sequence[Variable]],
    sizes: Mapping[Pair, int],
    most: int,
    statement: str,
) -> None:
    """State that every pair has a circuit, and that the slowest has as many as can be.

    Where there is no pair, nothing is stated and the objective is 0.

    `model`: gets ``serve``, ``objective``, and ``reach``, ``prefix`` or ``slowest``.

    Raises `InputError` if there is no such statement.
    """
    if statement not in list(Statement):
        allowed, where = ", ".join(Statement), "statement"
        what = "unknown variant"
        raise InputError(what, where=where, found=statement, allowed=allowed)
    if not sizes:
        model.objective = pyo.Objective(expr=0, sense=pyo.maximize)
        return
    if statement == Statement.RATIO:
        _maximise_ratio(model, circuits, sizes, most)
        return
    values = levels(list(sizes.values()), most)
    model.reach = pyo.Var(range(1, len(values)), within=pyo.Binary)
    model.prefix = pyo.Constraint(
        range(2, len(values)),
        rule=lambda m, k: (None, difference([m.reach[k]], [m.reach[k - 1]]), 0),
    )
    needs = {
        size: [
            k
            for count in range(1, most)
            if (k := bisect_right(values, Fraction(count, size))) < len(values)
        ]
        for size in sorted(set(sizes.values()))
    }

    def serve(m: Model, src: int, dst: int) -> tuple[int, Linear, None]:
        held = circuits[src, dst]
        due = [m.reach[k] for k in needs[sizes[src, dst]]]
        return 1, difference(list(held), due), None

    model.serve = pyo.Constraint(list(sizes), rule=serve)
    model.objective = pyo.Objective(
        expr=total(model.reach.values()), sense=pyo.maximize
    )


def _maximise_ratio(
    model: Model,
    circuits: Mapping[Pair, Sequence[Variable]],
    sizes: Mapping[Pair, int],
    most: int,
) -> None:
    """State the program as printed, bytes counted in those of the largest pair."""
    largest = max(sizes.values())
    model.slowest = pyo.Var(bounds=(1, most))

    def serve(m: Model, src: int, dst: int) -> tuple[int, Linear, None]:
        held = circuits[src, dst]
        coefs = [1.0] * len(held) + [-sizes[src, dst] / largest]
        terms = LinearExpression(
            constant=0, linear_coefs=coefs, linear_vars=[*held, m.slowest]
        )
        return 0, terms, None

    model.serve = pyo.Constraint(list(sizes), rule=serve)
    # Implied by the rows above, but for the tolerances of solvers.
    model.one = pyo.Constraint(
        list(sizes), rule=lambda _, *pair: (1, total(circuits[pair]), None)
    )
    model.objective = pyo.Objective(expr=model.slowest, sense=pyo.maximize)


def put_in_order(model: Model, slots: Sequence[Sequence[Variable]]) -> None:
    """Break the symmetry of slots that can be permuted freely: row ``symmetry``.

    `model`: unchanged when slots (switches, wavelengths) are permuted. `slots`: in each
    slot the variables of one set of rivals, in the same order; at most one of them is
    1. Their numbers are asked to fall from slot to slot.
    """
    model.symmetry = pyo.Constraint(
        range(1, len(slots)),
        rule=lambda _, slot: (
            0,
            weighted(
                [
                    *((i, one) for i, one in enumerate(slots[slot - 1], start=1)),
                    *((-i, one) for i, one in enumerate(slots[slot], start=1)),
                ]
            ),
            None,
        ),
    )
