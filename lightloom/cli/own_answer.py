"""``lightloom solve --solver lightloom``: our own algorithms instead of a model."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

from lightloom import __version__
from lightloom.core.outcome import Reason
from lightloom.instances.catalogue import load_instance
from lightloom.problems import NAME, own_algorithm
from lightloom.synth.certify import signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule


def own_answer(
    name: str, problem: str, seed: int
) -> tuple[dict[str, object], Reason, Callable[[], Schedule] | None]:
    """Return the record of an answer, its reason, and what makes its schedule.

    The schedule has its footer, certificates included; ``None`` where answers are
    none.

    Raises
    ------
    InputError
        If there is no such algorithm or instance, or they do not fit each other.
    InfeasibleError
        If there is no answer.
    """
    algorithm = own_algorithm(problem)
    instance = load_instance(name)
    start = time.perf_counter()
    answer = algorithm.solve(instance, seed)
    seconds = time.perf_counter() - start
    unsigned = answer.schedule
    reason = Reason.PROVEN_OPTIMAL if answer.proved else Reason.STOPPED_WITH_ANSWER
    gap = None
    if answer.bound is not None:
        off = abs(Fraction(answer.value) - Fraction(answer.bound))
        gap = float(off / answer.value) if answer.value else 0.0
    record: dict[str, object] = {
        "instance": name,
        "problem": problem,
        "solver": NAME,
        "version": __version__,
        "status": str(reason),
        "limit": None,
        "answer": str(answer.value),
        "unit": algorithm.unit,
        "objective": _number(answer.value),
        "bound": None if answer.bound is None else _number(answer.bound),
        "gap": gap,
        "seconds": seconds,
        "seed": seed,
        "threads": 1,
        "model_sha256": None,
        "detail": list(answer.detail),
        "file": None,
        "objectives": None,
    }
    if unsigned is None:
        return record, reason, None
    return (
        record,
        reason,
        lambda: signed(unsigned(), instance, answer.certificates),
    )


def _number(value: int | Fraction) -> int | float:
    return value if isinstance(value, int) else float(value)
