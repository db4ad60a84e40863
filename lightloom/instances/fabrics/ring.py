"""A ring of nodes on wavelength-routed fibre (SiP-ML paper, A.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFault, Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import (
    MOST_BITS_PER_S,
    Resources,
    WavelengthFabricRecord,
    wavelength_faults,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray


class Ring(WavelengthFabricRecord, frozen=True, kw_only=True):
    """Nodes on a ring of fibre, each adding and dropping wavelengths; one plane.

    Node i and node i + 1 are joined by span i, the last node and node 0 by the last
    span. In direction 0 light runs from node i to node i + 1; direction 1 is a second
    fibre on which it runs back. A circuit keeps its wavelengths on all its spans, and
    a span carries each wavelength once in a direction.

    Parameters
    ----------
    nodes
        Number of nodes.
    wavelengths
        Wavelengths of each fibre, W in the paper.
    bits_per_second_per_wavelength
        Data rate of one wavelength of a circuit.
    directions
        1, or 2 where there is a fibre each way.
    reach
        Most spans that a circuit may cross: the loss of every node on the way has to
        fit the optical power budget.
    shared_transceivers
        Whether both directions are fed, and read, by one transceiver a node: each
        wavelength then leaves a node at most once, and enters it at most once.
    alpha_ps
        Fixed cost of a transfer.
    reconfiguration_ps
        Time to leave one segment for the next.
    initial_configuration_charged
        Whether the first segment pays for its reconfiguration.
    dark_while_reconfiguring
        ``plane``: nothing is lit meanwhile; ``changed-circuits``: circuits that
        stay as they are remain lit.
    """

    kind: Literal["ring"] = "ring"
    nodes: Annotated[int, Meta(ge=1, le=2**20)]
    wavelengths: Annotated[int, Meta(ge=1, le=2**16)]
    bits_per_second_per_wavelength: Annotated[int, Meta(ge=1, le=10**18)] = (
        25_000_000_000
    )
    directions: Annotated[int, Meta(ge=1, le=2)] = 1
    reach: Annotated[int, Meta(ge=1, le=2**20)] = 16
    shared_transceivers: bool = False
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    reconfiguration_ps: Annotated[int, Meta(ge=0, le=10**15)] = 25_000_000
    initial_configuration_charged: bool = True
    dark_while_reconfiguring: Literal["plane", "changed-circuits"] = "plane"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.node_bits_per_s > MOST_BITS_PER_S:
            what = "a node with all its wavelengths lit is too fast"
            allowed = f"wavelengths * rate up to {MOST_BITS_PER_S} bits per second"
            found = self.node_bits_per_s
            raise InputError(what, where="fabric", found=found, allowed=allowed)

    # -- size and cost -------------------------------------------------------

    @property
    def transceivers(self) -> int:
        """Transceivers of a node: one, or one for each direction."""
        return 1 if self.shared_transceivers else self.directions

    @property
    def ports_per_node(self) -> int:
        """Most circuits leaving, and entering, a node: one a laser."""
        return self.transceivers * self.wavelengths

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a node with all its lasers on."""
        return self.ports_per_node * self.bits_per_second_per_wavelength

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """Wavelengths and direction."""
        return ("wavelengths", "direction")

    # -- ways round ------------------------------------------------------------

    def hops(self, src: IntArray, dst: IntArray, direction: IntArray) -> IntArray:
        """Return the number of spans from one node to another in a direction.

        `src`, `dst`: nodes, of shape (rows,), each from 0 to ``nodes - 1``.
        `direction`: 0 from node i to node i + 1, 1 from node i to node i - 1; of shape
        (rows,).
        """
        forward = (dst - src) % self.nodes
        return np.where(direction == 0, forward, (-forward) % self.nodes)

    def least_spans(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return the number of spans from one node to another the shortest way.

        `src`, `dst`: nodes, of shape (rows,), each from 0 to ``nodes - 1``.
        """
        forward: IntArray = (dst - src) % self.nodes
        if self.directions == 1:
            return forward
        return np.minimum(forward, (-forward) % self.nodes)

    def shared_lanes(self) -> IntArray:
        """Return the wavelengths of each span of direction 0, then of direction 1."""
        spans = self.directions * self.nodes
        return np.full(spans, self.wavelengths, dtype=np.int64)

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return the price of the cheaper way round, by one circuit if within reach.

        `prices`: of each span of each direction, of shape (directions * nodes,). `src`,
        `dst`: nodes, of shape (rows,), each from 0 to ``nodes - 1``. `circuits`: most
        circuits, one after another; ``None`` for any number.
        """
        del nodes
        ways, within = [], []
        for direction, price in enumerate(prices.reshape(-1, self.nodes)):
            before = np.append(0, np.cumsum(np.tile(price, 2)))
            hops = self.hops(src, dst, np.full(len(src), direction))
            begin = dst if direction else src
            ways.append(before[begin + hops] - before[begin])
            within.append(hops <= self.reach)
        paid, near = np.stack(ways), np.stack(within)
        if circuits == 1:
            most = paid.max(axis=0, initial=0)
            paid = np.where(near | ~near.any(axis=0), paid, most)
        least: IntArray = paid.min(axis=0)
        return least

    def circuits_apart(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return how many circuits data need at least, one after another."""
        apart: IntArray = -(-self.least_spans(src, dst) // self.reach)
        return apart

    def spans(self, src: int, dst: int, direction: int) -> tuple[int, ...]:
        """Return the spans from a node to another one, in the order of the light.

        `src`, `dst`: nodes, from 0 to ``nodes - 1``. Span i joins nodes i and i + 1.
        `direction`: 0 from node i to node i + 1, 1 from node i to node i - 1.
        """
        if direction == 0:
            hops = (dst - src) % self.nodes
            return tuple((src + hop) % self.nodes for hop in range(hops))
        hops = (src - dst) % self.nodes
        return tuple((src - 1 - hop) % self.nodes for hop in range(hops))

    # -- circuits ------------------------------------------------------------

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield circuits whose wavelengths or direction are off, or that go too far."""
        wavelengths = circuits.lists("wavelengths")
        direction = circuits.column("direction")
        yield from wavelength_faults(wavelengths, self.wavelengths)
        astray = (direction < 0) | (direction >= self.directions)
        for row in np.flatnonzero(astray).tolist():
            message = f"direction {direction[row]}, allowed 0 to {self.directions - 1}"
            yield CircuitFault("direction-range", row, message)
        hops = self.hops(circuits.src, circuits.dst, direction)
        for row in np.flatnonzero(~astray & (hops > self.reach)).tolist():
            message = f"crosses {hops[row]} spans, light reaches {self.reach}"
            yield CircuitFault("reach", row, message)

    # -- resources: lasers, then photodiodes, then spans ------------------------

    def usage(self, circuits: Circuits) -> Usage:
        """Return the lasers, photodiodes and spans of well-formed circuits."""
        wavelengths = circuits.lists("wavelengths")
        direction = circuits.column("direction")
        lit, colour = wavelengths.row_of_value, wavelengths.values
        ends = self.nodes * self.ports_per_node
        port = (direction[lit] % self.transceivers) * self.wavelengths + colour
        laser = circuits.src[lit] * self.ports_per_node + port
        photodiode = ends + circuits.dst[lit] * self.ports_per_node + port
        # Light that runs back crosses the spans of the way forth from dst to src.
        begin = np.where(direction == 0, circuits.src, circuits.dst)
        hops = self.hops(circuits.src, circuits.dst, direction)[lit]
        crossing = np.repeat(np.arange(len(lit)), hops)
        hop = np.arange(len(crossing)) - np.repeat(np.cumsum(hops) - hops, hops)
        span = (begin[lit][crossing] + hop) % self.nodes
        fiber = direction[lit][crossing] * self.nodes + span
        crossed = 2 * ends + fiber * self.wavelengths + colour[crossing]
        resource = np.concatenate([laser, photodiode, crossed])
        circuit = np.concatenate([lit, lit, lit[crossing]])
        return Usage(circuit, resource, np.ones(len(resource), dtype=np.int64))

    def resources(self) -> tuple[Resources, ...]:
        """Return the lasers and photodiodes of nodes, and the spans of fibres."""
        sizes = (self.nodes, self.transceivers, self.wavelengths)
        which = ", direction {1}" if self.transceivers > 1 else ""
        ends = (
            Resources(f"{end}s", sizes, (end + " {2} of node {0}" + which).format)
            for end in ("laser", "photodiode")
        )
        fibres = (self.directions, self.nodes, self.wavelengths)
        return (*ends, Resources("spans", fibres, self._span_name))

    def _span_name(self, direction: int, span: int, wavelength: int) -> str:
        after = (span + 1) % self.nodes
        tail, head = (after, span) if direction else (span, after)
        return f"wavelength {wavelength} on span {tail}->{head}"


FABRIC = FabricKind("ring", Ring)
