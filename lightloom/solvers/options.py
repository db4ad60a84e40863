"""What a solver is told besides the model: limits, seed, threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


ExtraValue: TypeAlias = bool | int | float | str

_SEED_MAX = 2_000_000_000
"""Largest seed that all solvers take: 32 bits with a sign."""
_LONGEST_S = 10**8
"""Three years; what sets timers does not take every number."""
_MOST_NODES = 2**31 - 1
"""Nodes of a search tree, which solvers count in 32 bits."""
_MOST_BYTES = 2**62
"""Of memory: more than any machine has."""
_MOST_THREADS = 1024
"""More than any machine of these solvers uses well; each has a stack."""


def _within(value: object, number: type, least: int, most: int) -> bool:
    """Return whether a value is a number of a kind, and in its domain."""
    kinds = (int, float) if number is float else (int,)
    return (
        isinstance(value, kinds)
        and not isinstance(value, bool)
        and least <= value <= most
    )


@dataclass(frozen=True, kw_only=True)
class SolveOptions:
    """Limits, seed and threads of a run, the same words for every solver.

    Attributes
    ----------
    time_limit_s
        Seconds on the wall clock, 0 to 10**8. Not reproducible. A solver that runs
        over is stopped from outside.
    node_limit
        Nodes of the search tree, 0 to 2**31 - 1; for CP-SAT, which has no such tree,
        conflicts. Reproducible with one thread. Linear programs have no nodes.
    memory_limit_bytes
        Memory the solver may take beyond what its library occupies when loaded, 1
        to 2**62. Where the operating system can hold a process to it (not Windows).
    seed
        Seed of the solver's random choices, 0 .. 2,000,000,000.
    threads
        Threads of the solver, 1 to 1024. More than one is not reproducible.
    log
        Whether the solver's own log goes to stderr.
    extra
        Options in the solver's own words. Unknown ones, and those that the fields
        above decide, are refused.

    Raises
    ------
    InputError
        A value out of its domain.
    """

    time_limit_s: float | None = None
    node_limit: int | None = None
    memory_limit_bytes: int | None = None
    seed: int = 0
    threads: int = 1
    log: bool = False
    extra: Mapping[str, ExtraValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is out of its domain, and freeze the extra options."""
        for name, most, least, unit in (
            ("time_limit_s", _LONGEST_S, 0, " seconds"),
            ("node_limit", _MOST_NODES, 0, ""),
            ("memory_limit_bytes", _MOST_BYTES, 1, " bytes"),
            ("seed", _SEED_MAX, 0, ""),
            ("threads", _MOST_THREADS, 1, ""),
        ):
            value = getattr(self, name)
            number = float if name == "time_limit_s" else int
            if value is not None and not _within(value, number, least, most):
                raise InputError(
                    "the solver cannot be told this",
                    where=f"options.{name}",
                    found=value,
                    allowed=f"{least} to {most}{unit}",
                )
        frozen = MappingProxyType(dict(sorted(self.extra.items())))
        object.__setattr__(self, "extra", frozen)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields for pickling; a frozen mapping cannot be pickled."""
        return {**self.__dict__, "extra": dict(self.extra)}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take the fields of a pickle."""
        for key, value in state.items():
            object.__setattr__(self, key, value)


def check_not_ours(
    solver: str, extra: Mapping[str, ExtraValue], ours: Collection[str]
) -> None:
    """Refuse extra options that the fields of `SolveOptions` decide.

    Raises `InputError`: naming the first such option.
    """
    for name in extra:
        if name in ours:
            raise InputError(
                f"this option of {solver} is decided by the options of lightloom",
                where=f"options.extra.{name}",
                found=extra[name],
                fix="use the limits, seed, threads and log instead",
            )
