"""Circuits per byte of the slowest pair, on optical switches and on rings."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ring import Ring
from lightloom.validate.certificates.objective import (
    InapplicableError,
    Objective,
)
from lightloom.validate.certificates.proofs.ocs_ports import (
    SaturatedPort,
    check_saturated_port,
)
from lightloom.validate.certificates.proofs.ring_lines import (
    CrowdedNode,
    CrowdedSpans,
    LongCircuits,
    PricedPairs,
    RingWitness,
    check_ring_witness,
)
from lightloom.validate.certificates.witness import (
    keys,
    number,
    rows,
    word,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric

_NEAR = 1e-9
"""Far above the error of a quotient of doubles."""


@dataclass(frozen=True)
class PortsQuestion:
    """Most circuits per byte of the slowest pair, one configuration a switch."""

    fabric: Ocs
    demand: Demand

    @property
    def kinds(self) -> tuple[str, ...]:
        """Saturated ports alone."""
        return ("saturated-port",)

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`."""
        del kind
        side, node = _line(witness, self.fabric.nodes)
        port = SaturatedPort(side, node, Fraction(bound))
        check_saturated_port(self.fabric, self.demand, port)


@dataclass(frozen=True)
class WavelengthsQuestion:
    """Most wavelengths per byte of the slowest pair of a ring."""

    fabric: Ring
    demand: Demand

    @property
    def kinds(self) -> tuple[str, ...]:
        """One for each form of `RingWitness`."""
        return ("crowded-node", "crowded-spans", "long-circuits", "priced-pairs")

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `Question.prove`."""
        told = self._told(kind, witness, Fraction(bound))
        check_ring_witness(self.fabric, self.demand, told)

    def _told(self, kind: str, witness: Witness, ratio: Fraction) -> RingWitness:
        if kind == "crowded-node":
            side, node = _line(witness, self.fabric.nodes)
            return CrowdedNode(ratio, side, node)
        if kind == "crowded-spans":
            keys(witness, "spans")
            named = rows(witness, "spans", 2).tolist()
            return CrowdedSpans(ratio, tuple((way, span) for way, span in named))
        if kind == "priced-pairs":
            keys(witness, "prices")
            return PricedPairs(ratio, tuple(rows(witness, "prices", 0).tolist()))
        keys(witness, "hops", "directions")
        hops = number(witness, "hops", self.fabric.nodes + 1)
        directions = rows(witness, "directions", 0).tolist()
        return LongCircuits(ratio, hops, tuple(directions))


def port_witness(port: SaturatedPort | CrowdedNode) -> Witness:
    """Return a saturated line of ports as a certificate states it."""
    return {"side": port.side, "node": port.node}


def ring_witness(witness: RingWitness) -> tuple[str, Witness]:
    """Return the kind of a ring's witness, and how a certificate states it."""
    if isinstance(witness, CrowdedNode):
        return "crowded-node", port_witness(witness)
    if isinstance(witness, CrowdedSpans):
        return "crowded-spans", {"spans": [list(span) for span in witness.spans]}
    if isinstance(witness, PricedPairs):
        return "priced-pairs", {"prices": [*witness.prices]}
    directions: list[int | list[int]] = list(witness.directions)
    return "long-circuits", {"hops": witness.hops, "directions": directions}


def _line(witness: Witness, nodes: int) -> tuple[Literal["row", "column"], int]:
    keys(witness, "side", "node")
    side = word(witness, "side", "row", "column")
    return cast("Literal['row', 'column']", side), number(witness, "node", nodes)


def measure(
    fabric: AnyFabric, schedule: Schedule
) -> tuple[PortsQuestion | WavelengthsQuestion, Fraction]:
    """Return the question, and the circuits per byte of the slowest pair.

    Raises `InapplicableError` if it is of no demand on switches or a ring, nothing is
    asked for, it allows relays, or a plane holds more than one segment.
    """
    demand = schedule.task
    if not isinstance(fabric, Ocs | Ring) or not isinstance(demand, Demand):
        message = "circuits per byte are those of a demand on switches or a ring"
        raise InapplicableError(message)
    if demand.relays:
        message = "bytes may take two circuits, so no count of one pair's says enough"
        raise InapplicableError(message)
    planes = [segment.plane for segment in schedule.segments]
    if len(set(planes)) != len(planes):
        message = "a plane holds several segments, so circuits take turns"
        raise InapplicableError(message)
    if not demand.src:
        message = "nothing is asked for, so no pair is the slowest"
        raise InapplicableError(message)
    ratio = _least_ratio(_counts(fabric.node_count, schedule, demand), demand)
    if isinstance(fabric, Ocs):
        return PortsQuestion(fabric, demand), ratio
    return WavelengthsQuestion(fabric, demand), ratio


def _counts(nodes: int, schedule: Schedule, demand: Demand) -> IntArray:
    """Return the circuits of each pair of a demand, a wavelength counting as one."""
    asked = np.array(demand.src, dtype=np.int64) * nodes + np.array(demand.dst)
    count = np.zeros(len(asked), dtype=np.int64)
    for segment in schedule.segments:
        circuits = segment.circuits
        pair = circuits.src * nodes + circuits.dst
        width = np.ones(len(pair), dtype=np.int64)
        if circuits.wavelengths is not None:
            width = circuits.wavelengths.lengths
        # The pairs of a sound demand are sorted.
        place = np.minimum(np.searchsorted(asked, pair), len(asked) - 1)
        serves = asked[place] == pair
        np.add.at(count, place[serves], width[serves])
    return count


def _least_ratio(count: IntArray, demand: Demand) -> Fraction:
    """Return the least of ``count / bytes``, exact."""
    size = np.array(demand.bytes, dtype=np.int64)
    rough = count / size
    near = np.flatnonzero(rough <= rough.min() * (1 + _NEAR))
    kinds = np.unique(np.stack([count[near], size[near]]), axis=1)
    return min(Fraction(*pair) for pair in kinds.T.tolist())


OBJECTIVE = Objective("circuits-per-byte", largest=True, measure=measure)
