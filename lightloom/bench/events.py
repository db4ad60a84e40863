"""Events: what the process of a run tells while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from lightloom.bench.row import Finding, Point


@dataclass(frozen=True)
class Started:
    """Start-up is over: the time of the run begins."""


@dataclass(frozen=True)
class Progressed:
    """Objective or bound went on."""

    point: Point


@dataclass(frozen=True)
class Answered:
    """The answer is there: its time is over, its verification begins."""


@dataclass(frozen=True)
class Found:
    """The last event: what the run found."""

    finding: Finding


Event: TypeAlias = Started | Progressed | Answered | Found
