"""Controllers that set circuits for the traffic of the last period."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.synth.fabrics.training_plug import PlaneCircuits

MAX_MIN = "max-min"
"""Controllers that serve the slowest pair best: ours, of every kind of fabric."""


@dataclass(frozen=True)
class ControllerTime:
    """What a controller cost on this machine.

    `name`: `MAX_MIN`, or a name of another one. `decisions`: how often it computed
    circuits. `mean_s`, `longest_s`: seconds of a decision, on average and at most. Not
    reproducible.
    """

    name: str
    decisions: int
    mean_s: float
    longest_s: float


@dataclass(frozen=True, eq=False)
class TrafficController:
    """Circuits for the traffic of a period, and one for each pair of the iteration.

    `following`: circuits for a demand, by plane; pairs that find none wait. `known`:
    traffic of a whole iteration. Its pairs keep a circuit each where ports allow, or
    those that begin after a period was measured would wait for the next one.
    """

    following: Callable[[Demand], PlaneCircuits]
    known: Demand
    name: str = MAX_MIN
    _set: dict[Demand, PlaneCircuits] = field(default_factory=dict)
    _seconds: list[float] = field(default_factory=list)

    def circuits(self, demand: Demand) -> PlaneCircuits:
        """Return the circuits of every plane."""
        if demand not in self._set:
            began_s = perf_counter()
            self._set[demand] = self.following(_with_pairs(demand, self.known))
            self._seconds.append(perf_counter() - began_s)
        return self._set[demand]

    @property
    def time(self) -> ControllerTime:
        """What it cost so far."""
        spent, count = self._seconds, len(self._seconds)
        mean_s = sum(spent) / count if count else 0.0
        return ControllerTime(self.name, count, mean_s, max(spent, default=0.0))


def _with_pairs(demand: Demand, known: Demand) -> Demand:
    """Return a demand with a byte for each known pair that it leaves out."""
    asked = dict.fromkeys(zip(known.src, known.dst, strict=True), 1)
    asked |= {
        (src, dst): size
        for src, dst, size in zip(demand.src, demand.dst, demand.bytes, strict=True)
    }
    return Demand.from_rows([(*pair, size) for pair, size in sorted(asked.items())])
