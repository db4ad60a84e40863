"""A passive star: light of every node reaches every other, on a few wavelengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError
from lightloom.core.fabric import Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import (
    Resources,
    WavelengthFabricRecord,
    wavelength_faults,
)
from lightloom.synth.circuit_ratios import best_threshold
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import CircuitRealiser
from lightloom.synth.fabrics.training_plug import circuits_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFault
    from lightloom.core.task import Demand


class Star(WavelengthFabricRecord, frozen=True, kw_only=True):
    """A star coupler, whose wavelengths all nodes share: each is lit by one at a time.

    Parameters
    ----------
    nodes
        Number of nodes.
    wavelengths
        Wavelengths of the coupler.
    lasers
        Tunable lasers of a node, and as many receivers.
    bits_per_second_per_wavelength
        Data rate of one wavelength of a circuit.
    alpha_ps
        Fixed cost of a transfer.
    reconfiguration_ps
        Time to tune lasers and receivers.
    initial_configuration_charged
        Whether the first segment pays for its reconfiguration.
    dark_while_reconfiguring
        ``plane``: nothing is lit meanwhile; ``changed-circuits``: what stays is.
    """

    kind: Literal["star"] = "star"
    nodes: Annotated[int, Meta(ge=1, le=1024)]
    wavelengths: Annotated[int, Meta(ge=1, le=1024)] = 16
    lasers: Annotated[int, Meta(ge=1, le=1024)] = 2
    bits_per_second_per_wavelength: Annotated[int, Meta(ge=1, le=10**12)] = 10**11
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    reconfiguration_ps: Annotated[int, Meta(ge=0, le=10**15)] = 1_000_000
    initial_configuration_charged: bool = True
    dark_while_reconfiguring: Literal["plane", "changed-circuits"] = "plane"

    @property
    def ports_per_node(self) -> int:
        """A laser each."""
        return self.lasers

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a node with all its lasers on."""
        return self.lasers * self.bits_per_second_per_wavelength

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """Wavelengths."""
        return ("wavelengths",)

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield circuits on wavelengths that there are not."""
        yield from wavelength_faults(circuits.lists("wavelengths"), self.wavelengths)

    def usage(self, circuits: Circuits) -> Usage:
        """Return the wavelengths, and as many lasers and receivers as they are."""
        lit = circuits.lists("wavelengths")
        row = np.arange(len(circuits), dtype=np.int64)
        lasers = self.wavelengths + circuits.src
        receivers = self.wavelengths + self.nodes + circuits.dst
        return Usage(
            np.concatenate([lit.row_of_value, row, row]),
            np.concatenate([lit.values, lasers, receivers]),
            np.concatenate([np.ones_like(lit.values), lit.lengths, lit.lengths]),
        )

    def resources(self) -> tuple[Resources, ...]:
        """Return the wavelengths of the coupler, and what nodes have."""
        ends = (
            Resources(
                rule,
                (self.nodes,),
                (rule + " of node {}").format,
                lambda numbers: np.full(len(numbers), self.lasers, dtype=np.int64),
            )
            for rule in ("lasers", "receivers")
        )
        return (
            Resources("coupler", (self.wavelengths,), "wavelength {}".format),
            *ends,
        )

    def shared_lanes(self) -> IntArray:
        """Return the wavelengths of the one coupler."""
        return np.array([self.wavelengths], dtype=np.int64)

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return the price of the coupler, which each circuit crosses once."""
        del dst, circuits, nodes
        return np.full(len(src), prices[0], dtype=np.int64)


def lit(fabric: Star, demand: Demand) -> Circuits:
    """Return as many wavelengths a byte for the slowest pair as can be."""
    src, dst, size_bytes = demand_columns(demand, fabric.nodes)
    if not len(src):
        return Circuits(src, dst, Ragged.from_lists([]))

    def loads(counts: IntArray) -> IntArray:
        sent, received = (
            np.bincount(ends, counts, fabric.nodes).astype(np.int64)
            for ends in (src, dst)
        )
        return np.concatenate([[counts.sum()], sent, received])

    most = np.full(1 + 2 * fabric.nodes, fabric.lasers, dtype=np.int64)
    most[0] = fabric.wavelengths
    counts = best_threshold(size_bytes, fabric.wavelengths, loads, most).counts
    if not counts.all():
        raise InfeasibleError(
            "more pairs than the star has light for",
            where="demand",
            found=len(src),
            allowed=f"{fabric.wavelengths} wavelengths, {fabric.lasers} of each node",
        )
    return Circuits(src, dst, Ragged.from_lengths(counts, np.arange(counts.sum())))


class StarRealiser(CircuitRealiser[Star]):
    """Lights what fits the coupler at once; the rest is cut by `CircuitRealiser`."""

    def light(self, demand: Demand) -> Circuits:
        """Return circuits for all pairs of a demand at once."""
        return lit(self.fabric, demand)


FABRIC = FabricKind("star", Star)
PLUG = FabricPlug("star", realiser=StarRealiser, circuits=circuits_by(lit))
