"""What a solver is told besides the model: limits, seed, threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

ExtraValue: TypeAlias = bool | int | float | str

_SEED_MAX = 2_000_000_000


@dataclass(frozen=True, kw_only=True)
class SolveOptions:
    """Limits, seed and threads of a run, the same words for every solver.

    Attributes
    ----------
    time_limit_s
        Seconds on the wall clock, at least 0. Not reproducible. A solver that runs
        over is stopped from outside.
    node_limit
        Nodes of the search tree, at least 0; for CP-SAT, which has no such tree,
        conflicts. Reproducible with one thread. Linear programs have no nodes.
    memory_limit_bytes
        Memory the solver may take beyond what its library occupies when loaded, at
        least 1. Where the operating system can hold a process to it (not Windows).
    seed
        Seed of the solver's random choices, 0 .. 2,000,000,000.
    threads
        Threads of the solver, at least 1. More than one is not reproducible.
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
        if self.time_limit_s is not None and not self.time_limit_s >= 0:
            raise _out("time_limit_s", self.time_limit_s, "at least 0 seconds")
        if self.node_limit is not None and self.node_limit < 0:
            raise _out("node_limit", self.node_limit, "at least 0")
        if self.memory_limit_bytes is not None and self.memory_limit_bytes < 1:
            raise _out("memory_limit_bytes", self.memory_limit_bytes, "at least 1")
        if not 0 <= self.seed <= _SEED_MAX:
            raise _out("seed", self.seed, f"0 .. {_SEED_MAX}")
        if self.threads < 1:
            raise _out("threads", self.threads, "at least 1")
        frozen = MappingProxyType(dict(sorted(self.extra.items())))
        object.__setattr__(self, "extra", frozen)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields for pickling; a frozen mapping cannot be pickled."""
        return {**self.__dict__, "extra": dict(self.extra)}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take the fields of a pickle."""
        for key, value in state.items():
            object.__setattr__(self, key, value)


def _out(name: str, found: object, allowed: str) -> InputError:
    what = "the solver cannot be told this"
    return InputError(what, where=f"options.{name}", found=found, allowed=allowed)
