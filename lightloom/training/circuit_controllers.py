"""Controllers that set circuits for the traffic of the last period."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.core.task import Demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.synth.fabrics.training_plug import PlaneCircuits

__all__ = ["TrafficController"]


@dataclass(frozen=True, eq=False)
class TrafficController:
    """Circuits for the traffic of a period, and one for each pair of the iteration.

    Attributes
    ----------
    following
        Circuits for a demand, by plane; pairs that find none wait.
    known
        Traffic of a whole iteration. Its pairs keep a circuit each where ports allow,
        or those that begin after a period was measured would wait for the next one.
    """

    following: Callable[[Demand], PlaneCircuits]
    known: Demand
    _set: dict[Demand, PlaneCircuits] = field(default_factory=dict)

    def circuits(self, demand: Demand) -> PlaneCircuits:
        """Return the circuits of every plane."""
        if demand not in self._set:
            self._set[demand] = self.following(_with_pairs(demand, self.known))
        return self._set[demand]


def _with_pairs(demand: Demand, known: Demand) -> Demand:
    """Return a demand with a byte for each known pair that it leaves out."""
    asked = dict.fromkeys(zip(known.src, known.dst, strict=True), 1)
    asked |= {
        (src, dst): size
        for src, dst, size in zip(demand.src, demand.dst, demand.bytes, strict=True)
    }
    return Demand.from_rows([(*pair, size) for pair, size in sorted(asked.items())])
