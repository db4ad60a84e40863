"""Linear expressions over Pyomo variables, made at once instead of term by term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pyomo.core.expr import LinearExpression

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Pyomo ships no types.
Model: TypeAlias = Any
Variable: TypeAlias = Any
Linear: TypeAlias = Any


def total(variables: Iterable[Variable]) -> Linear:
    """Return the sum of some variables."""
    return weighted((1, variable) for variable in variables)


def difference(
    plus: Sequence[Variable], minus: Sequence[Variable], times: int = 1
) -> Linear:
    """Return the sum of `plus` less `times` the sum of `minus`."""
    coefs = [1] * len(plus) + [-times] * len(minus)
    return LinearExpression(constant=0, linear_coefs=coefs, linear_vars=[*plus, *minus])


def weighted(terms: Iterable[tuple[float, Variable]]) -> Linear:
    """Return the sum of (coefficient, variable) terms."""
    pairs = list(terms)
    return LinearExpression(
        constant=0,
        linear_coefs=[coefficient for coefficient, _ in pairs],
        linear_vars=[variable for _, variable in pairs],
    )
