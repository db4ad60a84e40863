"""A grid of nodes on rings: each on the ring of its row and that of its column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.circuit import Circuits
from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFault, Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import (
    MOST_BITS_PER_S,
    Resources,
    WavelengthFabricRecord,
)
from lightloom.instances.fabrics.ring import Ring

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray

_AXES = ("row", "column")

BUDGET_MILLIDB = 10_000
"""What a link may lose, from transmit power to receiver sensitivity (SiP-ML, 5)."""

NODE_LOSS_MILLIDB = 625
"""What passing a node loses at most: 0.5 dB of couplers, 0.125 dB of rings there."""


def reach_of_budget(
    budget_millidb: int = BUDGET_MILLIDB, node_loss_millidb: int = NODE_LOSS_MILLIDB
) -> int:
    """Return the most spans that light crosses: whole losses that fit the budget.

    Every span ends in a node, which takes its loss. With 10 dB, 0.625 dB a node give
    16 spans, the reach of the SiP-ML paper (section 5), and the 0.525 dB at the other
    end of its measurements 19.

    Parameters
    ----------
    budget_millidb
        Thousandths of a decibel, 0 or more.
    node_loss_millidb
        Thousandths of a decibel, 1 or more.

    Raises
    ------
    InputError
        A figure out of its domain.
    """
    if budget_millidb < 0:
        what, allowed = "a negative power budget", "0 or more thousandths of a dB"
        where, found = "budget_millidb", budget_millidb
        raise InputError(what, where=where, found=found, allowed=allowed)
    if node_loss_millidb < 1:
        what, allowed = "a node without loss", "1 or more thousandths of a dB"
        where, found = "node_loss_millidb", node_loss_millidb
        raise InputError(what, where=where, found=found, allowed=allowed)
    return budget_millidb // node_loss_millidb


class Ring2d(WavelengthFabricRecord, frozen=True, kw_only=True):
    """Rings of fibre along rows and columns (SiP-ML paper, section 3.3); one plane.

    Node (r, c) is node ``r * cols + c``: place c of the ring of row r, and place r of
    the ring of column c. It divides its wavelengths between the two. A circuit runs
    along one ring, in direction 0 from place to place up a row, in direction 1 back, in
    direction 2 up a column, in direction 3 back.

    Parameters
    ----------
    rows, cols
        Size of the grid: rings of `cols` nodes along rows, of `rows` along columns.
    row_wavelengths, column_wavelengths
        Wavelengths of each fibre of a row, and of a column.
    bits_per_second_per_wavelength
        Data rate of one wavelength of a circuit.
    directions
        1, or 2 where each ring has a fibre each way.
    shared_transceivers
        Whether both directions of a ring are fed, and read, by one transceiver of a
        node: each wavelength then leaves and enters it at most once on that ring.
    power_budget_millidb, node_loss_millidb
        What light may lose, and what it loses at each node, in thousandths of a dB;
        they limit how many spans a circuit may cross.
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

    kind: Literal["ring-2d"] = "ring-2d"
    rows: Annotated[int, Meta(ge=1, le=2**20)]
    cols: Annotated[int, Meta(ge=1, le=2**20)]
    row_wavelengths: Annotated[int, Meta(ge=1, le=2**16)]
    column_wavelengths: Annotated[int, Meta(ge=1, le=2**16)]
    bits_per_second_per_wavelength: Annotated[int, Meta(ge=1, le=10**18)] = (
        25_000_000_000
    )
    directions: Annotated[int, Meta(ge=1, le=2)] = 1
    shared_transceivers: bool = False
    power_budget_millidb: Annotated[int, Meta(ge=0, le=10**6)] = BUDGET_MILLIDB
    node_loss_millidb: Annotated[int, Meta(ge=1, le=10**6)] = NODE_LOSS_MILLIDB
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    reconfiguration_ps: Annotated[int, Meta(ge=0, le=10**15)] = 25_000_000
    initial_configuration_charged: bool = True
    dark_while_reconfiguring: Literal["plane", "changed-circuits"] = "plane"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.node_count > 2**20:
            what, allowed = "too many nodes", f"rows * cols up to {2**20}"
            found = self.node_count
            raise InputError(what, where="fabric", found=found, allowed=allowed)
        if self.reach < 1:
            what = "light does not reach the next node"
            where = "fabric.power_budget_millidb"
            allowed = f"at least node_loss_millidb, {self.node_loss_millidb}"
            found = self.power_budget_millidb
            raise InputError(what, where=where, found=found, allowed=allowed)
        if self.node_bits_per_s > MOST_BITS_PER_S:
            what = "a node with all its wavelengths lit is too fast"
            allowed = f"wavelengths * rate up to {MOST_BITS_PER_S} bits per second"
            found = self.node_bits_per_s
            raise InputError(what, where="fabric", found=found, allowed=allowed)

    # -- size and cost -------------------------------------------------------

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.rows * self.cols

    @property
    def reach(self) -> int:
        """Most spans that a circuit may cross."""
        return reach_of_budget(self.power_budget_millidb, self.node_loss_millidb)

    @property
    def rings(self) -> tuple[Ring, Ring]:
        """A row and a column, each as a fabric by itself."""
        return self._ring(self.cols, self.row_wavelengths), self._ring(
            self.rows, self.column_wavelengths
        )

    @property
    def ports_per_node(self) -> int:
        """Most circuits leaving, and entering, a node: one a laser."""
        transceivers = 1 if self.shared_transceivers else self.directions
        return transceivers * (self.row_wavelengths + self.column_wavelengths)

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a node with all its lasers on."""
        return self.ports_per_node * self.bits_per_second_per_wavelength

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """Wavelengths and direction."""
        return ("wavelengths", "direction")

    def line(self, nodes: IntArray, axis: int) -> IntArray:
        """Return the row (axis 0) or the column (axis 1) of each node.

        Its place on that ring is its line on the other axis.

        `nodes`: nodes, of any shape; node ``r * cols + c`` is at row r, column c.
        `axis`: 0 for rows, 1 for columns.
        """
        return nodes % self.cols if axis else nodes // self.cols

    def circuits_apart(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return how many circuits data need at least, one after another."""
        apart = np.zeros(len(src), dtype=np.int64)
        for axis, ring in enumerate(self.rings):
            places = (self.line(ends, 1 - axis) for ends in (src, dst))
            apart += ring.circuits_apart(*places)
        return apart

    def shared_lanes(self) -> IntArray:
        """Return the wavelengths of the spans of every row's ring, then column's."""
        row, column = (ring.shared_lanes() for ring in self.rings)
        return np.concatenate([np.tile(row, self.rows), np.tile(column, self.cols)])

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return what data pay for spans, on each axis by the cheaper way round.

        One circuit pays for spans of its own ring. Several may choose their rings, so
        they pay for a span what the cheapest one at its place costs.

        `prices`: of each span of each direction, row by row, then column by column.
        `src`, `dst`: nodes, of shape (rows,), each from 0 to ``node_count - 1``.
        `circuits`: most circuits, one after another; ``None`` for any number.
        """
        del nodes
        paid = np.zeros(len(src), dtype=np.int64)
        first, lines = 0, (self.rows, self.cols)
        for axis, ring in enumerate(self.rings):
            size = lines[axis] * ring.directions * ring.nodes
            own = prices[first : first + size].reshape(lines[axis], -1)
            first += size
            begin, end = (self.line(ends, 1 - axis) for ends in (src, dst))
            least = ring.cheapest(own.min(axis=0), begin, end)
            if circuits == 1:
                line = self.line(src, axis)
                straight = np.flatnonzero(line == self.line(dst, axis))
                for used in np.unique(line[straight]).tolist():
                    rows = straight[line[straight] == used]
                    least[rows] = ring.cheapest(own[used], begin[rows], end[rows], 1)
            paid += least
        return paid

    # -- circuits ------------------------------------------------------------

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield circuits that leave their ring, or that it could not carry."""
        direction = circuits.column("direction")
        axis = direction // 2
        astray = (axis < 0) | (axis > 1) | (direction % 2 >= self.directions)
        ways = [way for way in range(4) if way % 2 < self.directions]
        for row in np.flatnonzero(astray).tolist():
            message = f"direction {direction[row]}, allowed {', '.join(map(str, ways))}"
            yield CircuitFault("direction-range", row, message)
        for which, ring in enumerate(self.rings):
            rows = np.flatnonzero(~astray & (axis == which))
            along = self._along(circuits, rows, which)
            line, other = (self.line(ends[rows], which) for ends in _ends(circuits))
            for at in np.flatnonzero(line != other).tolist():
                message = (
                    f"runs along {_AXES[which]} {line[at]}, and its destination is on"
                    f" {_AXES[which]} {other[at]}"
                )
                yield CircuitFault("shared-ring", int(rows[at]), message)
            for fault in ring.circuit_faults(along):
                apart = fault.rule == "reach" and line[fault.row] != other[fault.row]
                if not apart:
                    row = int(rows[fault.row])
                    yield CircuitFault(fault.rule, row, fault.message)

    # -- resources: those of every row's ring, then those of every column's --------

    def usage(self, circuits: Circuits) -> Usage:
        """Return the lasers, photodiodes and spans of well-formed circuits."""
        taken, first = [], 0
        for which, ring in enumerate(self.rings):
            rows = np.flatnonzero(circuits.column("direction") // 2 == which)
            usage = ring.usage(self._along(circuits, rows, which))
            size = _resources(ring)
            circuit = rows[usage.circuit]
            line = self.line(circuits.src[circuit], which)
            resource = first + line * size + usage.resource
            taken.append((circuit, resource, usage.amount))
            first += (self.rows, self.cols)[which] * size
        return Usage(*(np.concatenate(parts) for parts in zip(*taken, strict=True)))

    def resources(self) -> tuple[Resources, ...]:
        """Return nothing by rule: each row and column has what its ring has."""
        return ()

    def resource_rule(self, resource: int) -> str:
        """Return ``lasers``, ``photodiodes`` or ``spans``."""
        which, _, within = self._place(resource)
        return self.rings[which].resource_rule(within)

    def resource_name(self, resource: int) -> str:
        """Return the resource in words; nodes are places on their ring."""
        which, line, within = self._place(resource)
        return f"{self.rings[which].resource_name(within)} of {_AXES[which]} {line}"

    # -- rings -----------------------------------------------------------------

    def _ring(self, nodes: int, wavelengths: int) -> Ring:
        return Ring(
            nodes=nodes,
            wavelengths=wavelengths,
            bits_per_second_per_wavelength=self.bits_per_second_per_wavelength,
            directions=self.directions,
            reach=self.reach,
            shared_transceivers=self.shared_transceivers,
        )

    def _along(self, circuits: Circuits, rows: IntArray, which: int) -> Circuits:
        """Return some circuits as circuits between places of their rings."""
        src, dst = (self.line(ends[rows], 1 - which) for ends in _ends(circuits))
        wavelengths = circuits.lists("wavelengths").take(rows)
        return Circuits(
            src, dst, wavelengths, direction=circuits.column("direction")[rows] % 2
        )

    def _place(self, resource: int) -> tuple[int, int, int]:
        """Return axis, row or column, and number on its ring of a resource."""
        row_ring, column_ring = self.rings
        first = self.rows * _resources(row_ring)
        if resource < first:
            return 0, *divmod(resource, _resources(row_ring))
        return 1, *divmod(resource - first, _resources(column_ring))


def _resources(ring: Ring) -> int:
    """Return how many resources a ring has."""
    return sum(some.count for some in ring.resources())


def _ends(circuits: Circuits) -> tuple[IntArray, IntArray]:
    return circuits.src, circuits.dst


FABRIC = FabricKind("ring-2d", Ring2d)
