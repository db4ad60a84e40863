"""What proves a bound on a makespan: a path, or crowds in cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "AFTER",
    "ALL",
    "BEFORE",
    "NOWHERE",
    "Case",
    "CriticalPath",
    "CrowdedOps",
    "CrowdsInCases",
    "PlacementWitness",
]

BEFORE, AFTER, ALL, NOWHERE = range(4)
"""What a crowd of a case is for: a head, a tail, the bound, or a contradiction."""


@dataclass(frozen=True)
class CriticalPath:
    """A witness: operations that each need the one before."""

    ops: tuple[int, ...]

    def __str__(self) -> str:
        """Return what takes so long, in words."""
        return f"a path of {len(self.ops)} operations"


@dataclass(frozen=True)
class CrowdedOps:
    """Operations that few devices have to run, or hold.

    `ops`: rows of the workload, all different. `centre`: an operation near all of them;
    ``None`` where any device may run them. `reach`: edges, whichever their direction,
    from the centre to each of them at most. `case`, `part`: in which case, and what
    for: ``BEFORE``: all of them lead to the centre, which starts after they have ended;
    ``AFTER``: the centre leads to all of them; ``ALL``: they bound the makespan;
    ``NOWHERE``: no operation, but one within reach of the centre has no place.
    """

    ops: tuple[int, ...]
    centre: int | None = None
    reach: int = 0
    case: int = 0
    part: int = ALL


@dataclass(frozen=True)
class Case:
    """One of two cases that another is divided into.

    `parent`: number of the case that is divided; 0 is all placements. `low`, `high`:
    devices from the one down the ring to the other, at least and at most. `reach`:
    edges from the one within which it is known where the other can be; 0 if the two
    share a device, and in this case the one comes first.
    """

    parent: int
    one: int
    other: int
    low: int
    high: int
    reach: int


@dataclass(frozen=True)
class CrowdsInCases:
    """A witness: crowds that are one after another, in cases that leave none out.

    `crowds`: of the cases that are not divided, in any order. `cases`: case i + 1 is
    entry i, after the one that it is a part of.
    """

    crowds: tuple[CrowdedOps, ...]
    cases: tuple[Case, ...] = ()

    @property
    def undivided(self) -> tuple[int, ...]:
        """Numbers of the cases that are not divided."""
        divided = {case.parent for case in self.cases}
        return tuple(n for n in range(len(self.cases) + 1) if n not in divided)

    def __str__(self) -> str:
        """Return what is crowded, in words."""
        crowds = [crowd for crowd in self.crowds if crowd.part != NOWHERE]
        if len(crowds) == 1 and crowds[0].centre is None:
            return f"the work of {len(crowds[0].ops)} operations on all devices"
        words = "a crowd" if len(crowds) == 1 else f"{len(crowds)} crowds"
        words += f" of up to {max((len(crowd.ops) for crowd in crowds), default=0)}"
        words += " operations"
        return f"{words} in {len(self.undivided)} cases" if self.cases else words


PlacementWitness: TypeAlias = CriticalPath | CrowdsInCases
