"""The plug of 2D rings, for algorithms whose transfers go along rows and columns."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from lightloom.core.errors import InputError
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.demand_rounds import (
    CONFIGURATIONS,
    DECOMPOSITION,
    EDGE_COLOURING,
)
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, Realiser
from lightloom.synth.fabrics.training_plug import Rows, TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.relays.pair_lines import PairLines, ring_lines
from lightloom.synth.ring.demand_turns import grid_lanes
from lightloom.synth.ring_2d.realisation import realise_ring_2d
from lightloom.synth.ring_2d.training_circuits import CIRCUITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective, Demand
    from lightloom.plans.setting import Setting
    from lightloom.synth.demand_configurations.lanes import LaneWays
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound


class Ring2dRealiser(Realiser[Ring2d]):
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
    def ports(self) -> int:
        """A laser each."""
        return self.fabric.ports_per_node

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

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds."""
        return realise_ring_2d(self.fabric, rounds, self.seed)


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
    circuits=CIRCUITS,
    layout=TrainingLayout(alike=_alike, rows=_rows, ring=True, blocks="required"),
)
