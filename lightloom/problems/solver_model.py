"""The model of an instance before it is built, and the answer after it was solved."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InputError
from lightloom.core.outcome import Outcome, Reason
from lightloom.core.units import GIB
from lightloom.problems.problem import Formulation, Problem, ProblemAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightloom.instances.instance import Instance
    from lightloom.solvers import Model


def model_that_fits(
    problem: Problem,
    instance: Instance,
    variant: Mapping[str, object],
    tell: Callable[[str], None],
) -> Formulation:
    """Return the model of a problem, not built; refuse one that is too large.

    `variant`: keyword arguments of the model's ``build``.

    Raises `InputError` if there is no model or no such variant, the instance is not of
    the problem, or memory cannot hold the model: with the estimate, and what to use
    instead.
    """
    problem.check_variant(variant)
    model = problem.model()
    size = model.size(instance, **variant)
    counts = size.rows, size.columns, size.nonzeros
    check_size(*counts, where=instance.name, instead=size.instead)
    tell(f"building {size.rows:,} rows, {size.columns:,} columns at most")
    return model


def solver_answer(
    formulation: Formulation, instance: Instance, model: Model, outcome: Outcome[Any]
) -> ProblemAnswer | None:
    """Return the answer that a solved model holds; ``None`` for a relaxation.

    `outcome`: the solver's. Its bound is a claim, taken as exact where it meets the
    answer.
    """
    from lightloom.solvers.standard_form import has_integers

    if not has_integers(model):
        return None
    found = formulation.decode(model)
    value = formulation.objective(found)
    bound = None if outcome.bound is None else Fraction(outcome.bound)
    if outcome.reason is Reason.PROVEN_OPTIMAL:
        # A solver's objective may count levels where the answer is a fraction.
        bound = value
    schedule = None
    if formulation.schedule is not None:
        schedule = partial(formulation.schedule, instance, found)
    return ProblemAnswer(value, bound, outcome.detail, schedule, found=found)


ROW_BYTES = 1900
"""Of a row, from Pyomo to HiGHS at work: see `NONZERO_BYTES`."""
COLUMN_BYTES = 800
"""Of a column: see `NONZERO_BYTES`."""
NONZERO_BYTES = 400
"""What a model costs from Pyomo to HiGHS at work, per row, column and entry.

Measured as the peak of models of 50,000 rows: in Pyomo and its compiler 1400, 300 and
150, in HiGHS 500, 500 and 250. SCIP takes twice as much.
"""
_MAX_ENTRIES = 2**31 - 1
"""Solvers count entries of the matrix in 32 bits."""


def estimate_bytes(rows: int, columns: int, nonzeros: int) -> int:
    """Return the memory in bytes that building and solving a model may take."""
    return ROW_BYTES * rows + COLUMN_BYTES * columns + NONZERO_BYTES * nonzeros


def available_bytes() -> int | None:
    """Return the memory that this process may still take; ``None`` if unknown.

    The least of what the machine has free, what the control group allows, and what
    is left of the limit on address space. Linux only.
    """
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = [line for line in lines if line.startswith("MemAvailable:")]
        found.append(int(free[0].split()[1]) * 1024)
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        allowed = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        found.append(max(0, allowed - used))
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(max(0, soft - pages * resource.getpagesize()))
    return min(found, default=None)


def check_size(
    rows: int,
    columns: int,
    nonzeros: int,
    *,
    where: str,
    instead: str = "",
    available: int | None = None,
) -> None:
    """Refuse a model that is too large for this machine.

    `available`: memory in bytes; what the machine has where ``None``.

    Raises `InputError`: with the estimate and what to use instead.
    """
    if available is None:
        available = available_bytes()
    fix = f"use {instead}" if instead else ""
    need = estimate_bytes(rows, columns, nonzeros)
    counts = f"{rows:,} rows, {columns:,} columns, {nonzeros:,} entries"
    if nonzeros > _MAX_ENTRIES:
        raise InputError(
            "the model has more entries than solvers can count",
            where=where,
            found=counts,
            allowed=f"{_MAX_ENTRIES:,} entries",
            fix=fix,
        )
    if available is not None and need > available:
        raise InputError(
            f"the model would take about {need / GIB:.1f} GiB",
            where=where,
            found=counts,
            allowed=f"{available / GIB:.1f} GiB that are free",
            fix=fix,
        )
