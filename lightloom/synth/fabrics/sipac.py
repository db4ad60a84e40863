"""The plug of SiPAC, for algorithms whose transfers go one hop."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import FluidTransfers
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.lanes import LaneWays
from lightloom.synth.demand_rounds import CONFIGURATIONS, EDGE_COLOURING
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, Realiser
from lightloom.synth.fabrics.training_plug import Rows, TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.relays.pair_lines import PairLines, end_lines
from lightloom.synth.sipac.node_box import box_of
from lightloom.synth.sipac.realisation import realise_sipac
from lightloom.synth.sipac.training_circuits import CIRCUITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective, Demand
    from lightloom.plans.setting import Setting
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound


class SipacRealiser(Realiser[Sipac]):
    """Lights rounds of one hop, by the shuffle or by tuned switches.

    ``auto`` compares `levels` with one part and with as many as there are levels,
    rings along the levels, for all-reduce sums along levels, and for broadcast
    and reduce the way through blocks and pipelined trees. Any other algorithm will do
    whose transfers all go one hop.
    """

    demand_algorithms = (EDGE_COLOURING, CONFIGURATIONS)
    divided_demands = (CONFIGURATIONS,)

    @property
    def ports(self) -> int:
        """All nodes one hop away."""
        return self.fabric.ports_per_node

    def arrange(self, task: Collective) -> Arrangement:
        """Return the nodes in the order of the box that they fill."""
        order, shape = box_of(self.fabric, task.nodes)
        return Arrangement({GIVEN_ORDER: order}, shape)

    def setting(self, task: Collective, arrangement: Arrangement) -> Setting:
        """Return what algorithms are told: all goes along the lines of the box."""
        return dataclasses.replace(
            super().setting(task, arrangement),
            along_lines=True,
            tunable=self.fabric.switching == "tunable",
        )

    def check(
        self, rounds: Sequence[TrafficRound], algorithm: str, arrangement: Arrangement
    ) -> None:
        """Raise if some transfer is between nodes that share no switch.

        Raises `InputError` if two nodes of a transfer share no switch, naming them.
        """
        for one in rounds:
            far = self._far(one.transfers.src, one.transfers.dst)
            if far is not None:
                raise InputError(
                    f"{algorithm} sends between nodes that share no switch",
                    where="algorithm",
                    found=far,
                    allowed="transfers of one hop",
                    fix="use levels, or"
                    f" radices={','.join(map(str, arrangement.shape))}",
                )

    def lines(self, src: IntArray, dst: IntArray) -> list[PairLines]:
        """Return what nodes do on each level, and pairs as the shuffle joins them."""
        fabric, nodes = self.fabric, self.fabric.node_count
        first = fabric.level_of(src, dst) * nodes
        rate = fabric.bits_per_second_per_wavelength
        found = end_lines(first + src, first + dst, fabric.wavelengths * rate)
        pair, once = src * nodes + dst, np.ones_like(src)
        found.append(PairLines(pair, once, fabric.wavelengths_per_peer * rate))
        return found

    def lane_ways(self, demand: Demand) -> LaneWays | None:
        """Return a way for each pair where switches can be tuned: any wavelengths."""
        fabric = self.fabric
        if fabric.switching == "fixed":
            return None
        src, dst, size_bytes = demand_columns(demand, fabric.node_count)
        self._require_near(src, dst)
        return LaneWays(
            fabric=fabric,
            src=src,
            dst=dst,
            size_bytes=size_bytes,
            pair=np.arange(len(src)),
            lanes=np.full(len(src), fabric.wavelengths),
            bits_per_s=fabric.bits_per_second_per_wavelength,
            light=lambda way, lanes: Circuits(src[way], dst[way], lanes),
        )

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds of one hop."""
        for one in rounds:
            if isinstance(one.transfers, FluidTransfers):
                self._require_near(one.transfers.src, one.transfers.dst)
        return realise_sipac(self.fabric, rounds)

    def _require_near(self, src: IntArray, dst: IntArray) -> None:
        """Raise if some pair of a demand shares no switch, naming the first."""
        far = self._far(src, dst)
        if far is not None:
            raise InfeasibleError(
                "no switch has both nodes, and the demand does not allow relays",
                where="demand",
                found=far,
                fix="set `relays = true`, or state the task as a collective",
            )

    def _far(self, src: IntArray, dst: IntArray) -> str | None:
        """Return the first pair of nodes that share no switch, if there is one."""
        for row in np.flatnonzero(self.fabric.level_of(src, dst) < 0)[:1]:
            return f"{src[row]} -> {dst[row]}"
        return None


def _rows(fabric: Sipac) -> Rows:
    """Return the switches of level 0; the others number them."""
    return Rows(fabric.radix, (fabric.radix,) * fabric.level)


PLUG = FabricPlug(
    "sipac",
    realiser=SipacRealiser,
    circuits=CIRCUITS,
    layout=TrainingLayout(rows=_rows),
)
