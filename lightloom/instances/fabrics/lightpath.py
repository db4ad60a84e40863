"""LIGHTPATH: a grid of tiles in wafers, joined by fibres (LUMORPH paper, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFault, Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import (
    MOST_BITS_PER_S,
    MOST_NODES,
    Resources,
    WavelengthFabricRecord,
    rows_with_repeats,
    wavelength_faults,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray

Size = Annotated[int, Meta(ge=1, le=MOST_NODES)]
Count = Annotated[int, Meta(ge=0, le=10**6)]
Rate = Annotated[int, Meta(ge=1, le=MOST_BITS_PER_S)]
Time = Annotated[int, Meta(ge=0, le=10**15)]

_STEPS = ((-1, 0), (0, -1), (0, 1), (1, 0))
"""Rows and columns to the tile above, left, right and below: the order of edge
numbers."""


_MOST_DISTANCES = 2**22
"""Distances between tiles that are held at a time."""


class Lightpath(WavelengthFabricRecord, frozen=True, kw_only=True):
    """A LIGHTPATH rack: one plane, wavelength-switched circuits on grid routes.

    Tile (row, col) is node ``row * cols + col``. Neighbouring tiles are joined by
    two directed edges. An edge inside a wafer has `waveguides` waveguides; an edge
    between wafers is `fibers` fibres. Each carries every wavelength once, and
    each tile has one laser and one photodiode per wavelength.

    Parameters
    ----------
    rows, cols
        Tiles of the rack.
    wafer_rows, wafer_cols
        Tiles of one wafer.
    lasers
        Lasers, photodiodes and so wavelengths per tile.
    bits_per_second_per_wavelength
        Data rate of one wavelength of a circuit.
    waveguides
        Waveguides of each directed edge inside a wafer.
    fibers
        Fibres of each directed edge between wafers; `waveguides` unless given.
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

    kind: Literal["lightpath"] = "lightpath"
    rows: Size
    cols: Size
    wafer_rows: Size = 4
    wafer_cols: Size = 8
    lasers: Count = 16
    bits_per_second_per_wavelength: Rate = 150_000_000_000
    waveguides: Count = 64
    fibers: Count | None = None
    alpha_ps: Time = 700_000
    reconfiguration_ps: Time = 3_700_000
    initial_configuration_charged: bool = True
    dark_while_reconfiguring: Literal["plane", "changed-circuits"] = "plane"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows * self.cols > MOST_NODES:
            what = f"rows * cols exceeds {MOST_NODES} tiles"
            found = f"{self.rows} x {self.cols}"
            raise InputError(what, where="fabric", found=found)
        if self.node_bits_per_s > MOST_BITS_PER_S:
            what = "a tile with all its lasers on is too fast"
            allowed = f"lasers * rate up to {MOST_BITS_PER_S} bits per second"
            rate = self.node_bits_per_s
            raise InputError(what, where="fabric", found=rate, allowed=allowed)
        if self.fibers is None:
            msgspec.structs.force_setattr(self, "fibers", self.waveguides)

    # -- size and cost -------------------------------------------------------

    @property
    def node_count(self) -> int:
        """Number of tiles."""
        return self.rows * self.cols

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a tile with all its lasers on."""
        return self.lasers * self.bits_per_second_per_wavelength

    @property
    def ports_per_node(self) -> int:
        """Most circuits leaving, and entering, a tile: one a laser."""
        return self.lasers

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """Wavelengths and route."""
        return ("wavelengths", "route")

    # -- edges ---------------------------------------------------------------

    def edge_ids(self, tail: IntArray, head: IntArray) -> IntArray:
        """Return the id of each directed edge, -1 where the tiles are no neighbours.

        Edge ids are ``4 * tail + direction`` with direction 0 to 3 for up, left,
        right, down; ids of edges that would leave the grid are never returned.

        `tail`, `head`: tiles that each edge leaves and enters, of shape (rows,), row by
        row of the rack: tile ``r * cols + c`` is at row r, column c.
        """
        down = head // self.cols - tail // self.cols
        right = head % self.cols - tail % self.cols
        ids = np.full(len(tail), -1, dtype=np.int64)
        for direction, (step_down, step_right) in enumerate(_STEPS):
            here = (down == step_down) & (right == step_right)
            ids[here] = 4 * tail[here] + direction
        return ids

    def edges(self) -> tuple[IntArray, IntArray]:
        """Return (tail, head) of every directed edge, sorted by edge id."""
        node = np.arange(self.node_count, dtype=np.int64)
        row, col = node // self.cols, node % self.cols
        tails, heads, ids = [], [], []
        for direction, (down, right) in enumerate(_STEPS):
            to_row, to_col = row + down, col + right
            inside = (to_row >= 0) & (to_row < self.rows)
            inside &= (to_col >= 0) & (to_col < self.cols)
            tails.append(node[inside])
            heads.append((to_row * self.cols + to_col)[inside])
            ids.append(4 * node[inside] + direction)
        order = np.argsort(np.concatenate(ids))
        return np.concatenate(tails)[order], np.concatenate(heads)[order]

    def edge_waveguides(self, tail: IntArray, head: IntArray) -> IntArray:
        """Return the number of waveguides, or fibres, of each directed edge.

        `tail`, `head`: tiles that each edge leaves and enters, of shape (rows,), row by
        row of the rack: tile ``r * cols + c`` is at row r, column c. Neighbours.
        """
        across = (tail // self.cols // self.wafer_rows) != (
            head // self.cols // self.wafer_rows
        )
        across |= (tail % self.cols // self.wafer_cols) != (
            head % self.cols // self.wafer_cols
        )
        fibers = self.waveguides if self.fibers is None else self.fibers
        return np.where(across, fibers, self.waveguides).astype(np.int64)

    def shared_lanes(self) -> IntArray:
        """Return the wavelengths of all waveguides of each edge, by edge id."""
        lanes = np.zeros(4 * self.node_count, dtype=np.int64)
        tail, head = self.edges()
        waveguides = self.edge_waveguides(tail, head)
        lanes[self.edge_ids(tail, head)] = waveguides * self.lasers
        return lanes

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return the price of the cheapest route, however many circuits it takes.

        `prices`: of each edge by its id, of shape (4 * tiles,). `src`, `dst`: tiles, of
        shape (rows,), each from 0 to ``node_count - 1``.

        Returns shape (rows,); the price of all edges where no route leads.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        del circuits, nodes
        turned = len(np.unique(dst)) < len(np.unique(src))
        tail, head = self.edges()
        open_ = self.edge_waveguides(tail, head) > 0
        price = prices[self.edge_ids(tail, head)][open_].astype(np.float64)
        ends = (tail[open_], head[open_])
        near, far = (dst, src) if turned else (src, dst)
        graph = csr_array(
            (price, ends[::-1] if turned else ends), shape=(self.node_count,) * 2
        )
        starts, place = np.unique(near, return_inverse=True)
        paid = np.empty(len(src), dtype=np.float64)
        block = max(1, _MOST_DISTANCES // self.node_count)
        for first in range(0, len(starts), block):
            distance = dijkstra(graph, indices=starts[first : first + block])
            rows = np.flatnonzero((place >= first) & (place < first + block))
            paid[rows] = distance[place[rows] - first, far[rows]]
        paid[~np.isfinite(paid)] = float(prices.sum())
        return paid.astype(np.int64)

    # -- circuits ------------------------------------------------------------

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield circuits whose route is no simple path or whose wavelengths are off."""
        yield from wavelength_faults(circuits.lists("wavelengths"), self.lasers)
        route = circuits.lists("route")
        for row in np.flatnonzero(route.lengths < 2).tolist():
            message = f"the route has {len(route[row])} nodes, fewer than two"
            yield CircuitFault("route-is-path", row, message)
        values = route.values
        outside = (values < 0) | (values >= self.node_count)
        for row in np.unique(route.row_of_value[outside]).tolist():
            message = f"the route {route[row].tolist()} leaves the grid"
            yield CircuitFault("route-is-path", row, message)
        inner = route.row_of_value[:-1] == route.row_of_value[1:]
        ids = self.edge_ids(values[:-1], values[1:])
        for place in np.flatnonzero(inner & (ids < 0)).tolist():
            row = int(route.row_of_value[place])
            message = (
                f"tiles {values[place]} and {values[place + 1]} are not neighbours"
            )
            yield CircuitFault("route-is-path", row, message)
        ends = np.flatnonzero(route.lengths >= 1)
        first = values[route.offsets[ends]]
        last = values[route.offsets[ends + 1] - 1]
        wrong = (first != circuits.src[ends]) | (last != circuits.dst[ends])
        for row in ends[wrong].tolist():
            message = (
                f"the route runs from {route[row][0]} to {route[row][-1]}, the circuit"
                f" from {circuits.src[row]} to {circuits.dst[row]}"
            )
            yield CircuitFault("route-ends", row, message)
        for row in rows_with_repeats(route):
            message = f"the route {route[row].tolist()} visits a tile twice"
            yield CircuitFault("route-is-simple", row, message)

    # -- resources: lasers, then photodiodes, then waveguides -------------------

    def usage(self, circuits: Circuits) -> Usage:
        """Return the lasers, photodiodes and waveguides of well-formed circuits."""
        wavelengths = circuits.lists("wavelengths")
        route = circuits.lists("route")
        lit = wavelengths.row_of_value
        laser = circuits.src[lit] * self.lasers + wavelengths.values
        photodiode = circuits.dst[lit] * self.lasers + wavelengths.values
        inner = route.row_of_value[:-1] == route.row_of_value[1:]
        tail, head = route.values[:-1][inner], route.values[1:][inner]
        edge_row = route.row_of_value[:-1][inner]
        edge = self.edge_ids(tail, head)
        count = wavelengths.lengths[edge_row]
        per_edge = wavelengths.take(edge_row).values
        waveguide = np.repeat(edge, count) * self.lasers + per_edge
        ends = self.node_count * self.lasers
        resource = np.concatenate([laser, ends + photodiode, 2 * ends + waveguide])
        circuit = np.concatenate([lit, lit, np.repeat(edge_row, count)])
        return Usage(circuit, resource, np.ones(len(resource), dtype=np.int64))

    def resources(self) -> tuple[Resources, ...]:
        """Return the lasers and photodiodes of tiles, and the waveguides of edges."""
        ends = (self.node_count, self.lasers)
        return (
            Resources("lasers", ends, "laser {1} of node {0}".format),
            Resources("photodiodes", ends, "photodiode {1} of node {0}".format),
            Resources(
                "waveguides",
                (self.node_count, len(_STEPS), self.lasers),
                self._waveguide_name,
                self._waveguides,
            ),
        )

    def _waveguides(self, numbers: IntArray) -> IntArray:
        """Return the waveguides of the edge of each of its wavelengths."""
        tail, direction = np.divmod(numbers // self.lasers, len(_STEPS))
        steps = np.array([down * self.cols + right for down, right in _STEPS])
        return self.edge_waveguides(tail, tail + steps[direction])

    def _waveguide_name(self, tail: int, direction: int, wavelength: int) -> str:
        down, right = _STEPS[direction]
        head = tail + down * self.cols + right
        return f"wavelength {wavelength} on edge {tail}->{head}"


FABRIC = FabricKind("lightpath", Lightpath)
