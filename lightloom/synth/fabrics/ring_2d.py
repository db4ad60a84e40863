"""The plug of 2D rings: every row and every column is a ring by itself."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.circuit import Circuits, join_circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_rounds import (
    CONFIGURATIONS,
    DECOMPOSITION,
    EDGE_COLOURING,
)
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, CircuitRealiser
from lightloom.synth.fabrics.training_plug import Rows, TrainingCircuits, TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.relays.pair_lines import PairLines, ring_lines
from lightloom.synth.ring.demand_turns import grid_lanes
from lightloom.synth.ring.quick_circuits import faster_ring_circuits, lap_parts
from lightloom.synth.ring.training_circuits import CIRCUITS as OF_RINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.plans.setting import Setting
    from lightloom.synth.demand_configurations.lanes import LaneWays
    from lightloom.synth.fabrics.training_plug import PlaneCircuits
    from lightloom.synth.traffic import TrafficRound


class Ring2dRealiser(CircuitRealiser[Ring2d]):
    """Lights rounds ring by ring.

    ``auto`` compares rings along rows and columns (`torus-rings`, where they do the
    task) with direct exchange along rows, then columns (`levels`); with one part, and
    with one that begins with rows and one with columns. Any other algorithm will do
    whose transfers all go along a row or a column. For broadcast and reduce also trees
    between neighbours (`torus-trees`).
    """

    demand_algorithms = (EDGE_COLOURING, DECOMPOSITION, CONFIGURATIONS)
    divided_demands = (CONFIGURATIONS,)

    @property
    def demand_ports(self) -> int:
        """A wavelength each, whichever way round."""
        return self.fabric.row_wavelengths + self.fabric.column_wavelengths

    def arrange(self, task: Collective) -> Arrangement:
        """Return the nodes row by row, with how many rows and columns they are on."""
        node = np.sort(np.array(task.nodes, dtype=np.int64))
        rows, cols = (np.unique(self.fabric.line(node, axis)) for axis in range(2))
        if len(rows) * len(cols) != len(node):
            raise InputError(
                "invalid nodes: they do not form a grid of rows and columns",
                where="collective.nodes",
                found=f"{len(node)} nodes on {len(rows)} rows and {len(cols)} columns",
                allowed=f"all {len(rows) * len(cols)} nodes where these meet",
            )
        shape = (len(rows), len(cols))
        return Arrangement({GIVEN_ORDER: tuple(node.tolist())}, shape)

    def setting(self, task: Collective, arrangement: Arrangement) -> Setting:
        """Return what algorithms are told: all goes along rows and columns.

        The rate of a rank is that of its links on the rows and columns that are longer
        than one, as many wavelengths on each as on the one with fewest.
        """
        rows, cols = arrangement.shape
        lit = [
            ring.ports_per_node
            for ring, size in zip(self.fabric.rings, (cols, rows), strict=True)
            if size > 1
        ]
        rate = self.fabric.bits_per_second_per_wavelength
        return dataclasses.replace(
            super().setting(task, arrangement),
            bits_per_s=min(lit, default=0) * len(lit) * rate,
            along_lines=True,
            both_ways=self.fabric.directions == 2,
        )

    def lines(self, src: IntArray, dst: IntArray) -> list[PairLines]:
        """Return what nodes do on each ring, and the spans of each."""
        fabric = self.fabric
        rows, cols = (fabric.line(src, axis) for axis in range(2))
        along_row = rows == fabric.line(dst, 0)
        found: list[PairLines] = []
        for axis, (ring, which) in enumerate(
            zip(fabric.rings, (rows, cols), strict=True)
        ):
            begin, end = (fabric.line(ends, 1 - axis) for ends in (src, dst))
            own = along_row == (axis == 0)
            found += [
                PairLines(one.line, one.amount * own, one.bits_per_s)
                for one in ring_lines(ring, begin, end, which)
            ]
        return found

    def lane_ways(self, demand: Demand) -> LaneWays | None:
        """Return the ways round rows and columns, whose lanes are wavelengths."""
        return grid_lanes(self.fabric, demand, self.seed)

    def light(self, demand: Demand) -> Circuits:
        """Return the circuits of rows and columns, each the better of two ways."""
        return grid_circuits(
            self.fabric,
            demand,
            lambda ring, part: faster_ring_circuits(ring, part, seed=self.seed),
        )

    def parts_of(self, moved: TrafficRound) -> IntArray | None:
        """Return parts by laps of an exchange of all with all, where it is one."""
        return lap_parts(self.fabric, moved.transfers.src, moved.transfers.dst)


# -- circuits of rows and columns ----------------------------------------------------


def grid_circuits(
    fabric: Ring2d, demand: Demand, light: Callable[[Ring, Demand], Circuits]
) -> Circuits:
    """Return the circuits of a 2D ring for a demand, sorted by (src, dst, direction).

    `demand`: bytes of pairs that share a row or a column. `light`: returns the circuits
    of one ring for its part of the demand; asked once for rings that are alike and have
    the same to carry.

    Raises `InputError` if the demand does not fit the fabric; `InfeasibleError` if a
    pair shares neither a row nor a column, naming it; `InfeasibleError, NoAnswerError`:
    by `light`, with the row or column.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.node_count)
    axis = np.where(fabric.line(src, 0) == fabric.line(dst, 0), 0, 1)
    apart = (axis == 1) & (fabric.line(src, 1) != fabric.line(dst, 1))
    for row in np.flatnonzero(apart)[:1].tolist():
        raise InfeasibleError(
            f"nodes {src[row]} and {dst[row]} share neither a row nor a column",
            where=f"demand row {row}",
            found=f"({src[row] // fabric.cols}, {src[row] % fabric.cols}) to"
            f" ({dst[row] // fabric.cols}, {dst[row] % fabric.cols})",
            allowed="pairs of one ring; light does not change rings",
            fix="send in two hops, along the row and along the column, as a demand does"
            " with `relays = true`",
        )
    known: dict[tuple[int, Demand], Circuits] = {}
    found = [_nothing()]
    for which, ring in enumerate(fabric.rings):
        mine = np.flatnonzero(axis == which)
        for line, part in _parts(fabric, which, src[mine], dst[mine], size_bytes[mine]):
            if (which, part) not in known:
                try:
                    known[which, part] = light(ring, part)
                except (InfeasibleError, NoAnswerError) as problem:
                    raise type(problem)(
                        problem.what,
                        where=f"{('row', 'column')[which]} {line}, {problem.where}",
                        found=problem.found,
                        allowed=problem.allowed,
                        fix=problem.fix,
                    ) from problem
            found.append(_placed(fabric, which, line, known[which, part]))
    joined = join_circuits(found, ("wavelengths", "direction"))
    order = np.lexsort((joined.column("direction"), joined.dst, joined.src))
    return joined.take(order)


def _parts(
    fabric: Ring2d, axis: int, src: IntArray, dst: IntArray, size_bytes: IntArray
) -> Iterator[tuple[int, Demand]]:
    """Yield each ring of an axis with its part of the demand, between its places."""
    line = fabric.line(src, axis)
    one, other = (fabric.line(ends, 1 - axis) for ends in (src, dst))
    order = np.lexsort((other, one, line))
    starts = np.flatnonzero(np.diff(line[order], prepend=-1))
    for rows in np.split(order, starts[1:]) if len(order) else ():
        columns = (one[rows], other[rows], size_bytes[rows])
        tail, head, size = (tuple(each.tolist()) for each in columns)
        yield int(line[rows[0]]), Demand(tail, head, size)


def _placed(fabric: Ring2d, axis: int, line: int, circuits: Circuits) -> Circuits:
    """Return circuits between places of a ring as circuits between nodes."""
    stride, first = (fabric.cols, line) if axis else (1, line * fabric.cols)
    return Circuits(
        first + stride * circuits.src,
        first + stride * circuits.dst,
        circuits.wavelengths,
        direction=circuits.column("direction") + 2 * axis,
    )


def _nothing() -> Circuits:
    none = np.empty(0, dtype=np.int64)
    return Circuits(none, none, Ragged.from_lists([]), direction=none)


def _line_by_line(
    of_ring: Callable[[Ring, Demand], PlaneCircuits],
) -> Callable[[Ring2d, Demand], PlaneCircuits]:
    """Return what sets the circuits of every row and column as those of a ring."""

    def lit(fabric: Ring2d, demand: Demand) -> PlaneCircuits:
        circuits = grid_circuits(
            fabric, demand, lambda ring, part: of_ring(ring, part)[0]
        )
        return {0: circuits}

    return lit


def _ports(fabric: Ring2d) -> int:
    """Return the nodes in reach along a row at most: devices of a model are there."""
    row, _ = fabric.rings
    return min(row.reach, row.ports_per_node)


def _alike(fabric: Ring2d, devices: int) -> Ring2d | None:
    """Return as many rows as a column of them needs, where a row is a replica."""
    if devices != fabric.cols:
        return None
    return replace(fabric, rows=max(3, 2 * fabric.reach + 1))


def _rows(fabric: Ring2d) -> Rows:
    return Rows(fabric.cols, (fabric.rows,), any_rows=True)


PLUG = FabricPlug(
    "ring-2d",
    realiser=Ring2dRealiser,
    circuits=TrainingCircuits(
        _ports,
        _line_by_line(OF_RINGS.lasting),
        _line_by_line(OF_RINGS.estimated),
        _line_by_line(OF_RINGS.following),
        lambda fabric: OF_RINGS.period_ps(fabric.rings[0]),
        {name: _line_by_line(of_ring) for name, of_ring in OF_RINGS.others.items()},
    ),
    layout=TrainingLayout(alike=_alike, rows=_rows, ring=True, blocks="required"),
)
