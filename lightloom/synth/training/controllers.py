"""Controllers: circuits for the traffic of the last period, by certified algorithms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.task import Demand
from lightloom.synth.ocs.switches import switch_circuits
from lightloom.synth.training.ring_circuits import quick_ring_circuits

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.instances.fabrics.ring import Ring

__all__ = ["RingController", "SwitchController"]


@dataclass(frozen=True, eq=False)
class SwitchController:
    """Optical switches: the best circuits for the pairs with most to send.

    A pair that finds no free port at either end, larger ones first, waits.

    Attributes
    ----------
    fabric
        The switches.
    known
        Traffic of a whole iteration. Its pairs keep a circuit each where ports allow,
        or those that begin after a period was measured would wait for the next one.
    """

    fabric: Ocs
    known: Demand
    _set: dict[Demand, dict[int, Circuits]] = field(default_factory=dict)

    def circuits(self, demand: Demand) -> dict[int, Circuits]:
        """Return the circuits of every switch."""
        if demand not in self._set:
            asked = _with_pairs(demand, self.known)
            kept = _largest(asked, self.fabric.switches)
            plan = switch_circuits(self.fabric, kept)
            self._set[demand] = dict(enumerate(plan.switches))
        return self._set[demand]


@dataclass(frozen=True, eq=False)
class RingController:
    """A ring: the best wavelengths for the pairs with most to send.

    Where no wavelengths serve all pairs, the half of them with less to send waits.

    Attributes
    ----------
    fabric
        The ring.
    known
        As that of `SwitchController`.
    seed
        Of the search for wavelengths.
    """

    fabric: Ring
    known: Demand
    seed: int = 0
    _set: dict[Demand, dict[int, Circuits]] = field(default_factory=dict)

    def circuits(self, demand: Demand) -> dict[int, Circuits]:
        """Return the circuits of the ring."""
        if demand not in self._set:
            asked = _with_pairs(demand, self.known)
            self._set[demand] = {0: self._found(asked)}
        return self._set[demand]

    def _found(self, demand: Demand) -> Circuits:
        rows = sorted(zip(demand.src, demand.dst, demand.bytes, strict=True))
        while True:
            try:
                return quick_ring_circuits(
                    self.fabric, Demand.from_rows(rows), seed=self.seed
                )
            except (InfeasibleError, NoAnswerError):
                if len(rows) == 1:  # out of reach, whatever else is served
                    raise
                rows.sort(key=lambda row: (-row[2], row))
                rows = rows[: -(-len(rows) // 2)]


def _with_pairs(demand: Demand, known: Demand) -> Demand:
    """Return a demand with a byte for each known pair that it leaves out."""
    asked = dict.fromkeys(zip(known.src, known.dst, strict=True), 1)
    asked |= {
        (src, dst): size
        for src, dst, size in zip(demand.src, demand.dst, demand.bytes, strict=True)
    }
    return Demand.from_rows([(*pair, size) for pair, size in sorted(asked.items())])


def _largest(demand: Demand, ports: int) -> Demand:
    """Return the pairs of a demand that find ports, those with most bytes first."""
    rows = sorted(
        zip(demand.src, demand.dst, demand.bytes, strict=True),
        key=lambda row: (-row[2], row),
    )
    out: dict[int, int] = {}
    into: dict[int, int] = {}
    kept = []
    for src, dst, size in rows:
        if out.get(src, 0) < ports and into.get(dst, 0) < ports:
            out[src], into[dst] = out.get(src, 0) + 1, into.get(dst, 0) + 1
            kept.append((src, dst, size))
    return Demand.from_rows(kept)
