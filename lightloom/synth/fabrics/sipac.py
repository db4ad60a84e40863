"""The plug of SiPAC, for algorithms whose transfers go one hop."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import FluidTransfers
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.demand_rounds import EDGE_COLOURING
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, Realiser
from lightloom.synth.fabrics.training_plug import Rows, TrainingLayout
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.relays.pair_lines import PairLines, end_lines
from lightloom.synth.sipac.node_box import box_of
from lightloom.synth.sipac.realisation import realise_sipac
from lightloom.synth.sipac.training_circuits import CIRCUITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.synth.auto.search_space import Proposal
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound

_RINGS = ("all-gather", "all-reduce", "reduce-scatter")
_MOST_ROWS = 2**21
"""Transfers of a plan beyond which whole blocks are preferred to parts of them."""
_MOST_PIECES = 256


class SipacRealiser(Realiser[Sipac]):
    """Lights rounds of one hop, by the shuffle or by tuned switches.

    ``auto`` compares `levels` with one part and with as many as there are levels,
    rings along the levels, for all-reduce sums along levels, and for broadcast
    and reduce the way through blocks and pipelined trees. Any other algorithm will do
    whose transfers all go one hop.
    """

    demand_algorithms = (EDGE_COLOURING,)

    @property
    def ports(self) -> int:
        """All nodes one hop away."""
        return self.fabric.ports_per_node

    def arrange(self, task: Collective) -> Arrangement:
        """Return the nodes in the order of the box that they fill."""
        order, shape = box_of(self.fabric, task.nodes)
        return Arrangement({GIVEN_ORDER: order}, shape)

    def proposals(
        self, task: Collective, arrangement: Arrangement
    ) -> Iterator[Proposal]:
        """Yield algorithms with their parameters, the shape left out."""
        dimensions = sum(size > 1 for size in arrangement.shape)
        parts = sorted({1, max(1, dimensions)})
        # In the last rounds a rank may move a row for every part of most blocks.
        blocks = task.op in ("all-gather", "all-to-all", "reduce-scatter")
        if blocks and task.rank_count**2 * parts[-1] > _MOST_ROWS:
            parts = parts[:1]
            if task.rank_count**2 <= _MOST_ROWS:
                yield "levels", {"whole_blocks": True}
        for number in reversed(parts):
            yield "levels", {"parts": number}
            if task.op in ("broadcast", "reduce"):
                yield "level-scatter-gather", {"parts": number}
            if task.op in _RINGS:
                yield "torus-rings", {"parts": number}
        if task.op == "all-reduce":
            for exchanged in range(1, dimensions + 1):
                yield "levels", {"parts": parts[-1], "exchanged": exchanged}
        if task.op in ("broadcast", "reduce"):
            yield from self._trees(task, arrangement)

    def _trees(self, task: Collective, arrangement: Arrangement) -> Iterator[Proposal]:
        """Yield pipelined trees along the levels.

        Where the box is as long along some levels as along others, and the wavelengths
        of a port can be shared evenly, no tree from port to port is better than those
        that use each pair of a line. Where it is not, pairs of long lines have fewer
        wavelengths, and switches that can be tuned do without most of them. By
        multicast the last piece costs a broadcast one step less.
        """
        fabric = self.fabric
        sizes = [size for size in arrangement.shape if size > 1]
        ideal = _pieces(fabric, task, len(sizes))
        arcs = (task.rank_count - 1) * sum(size - 1 for size in sizes)
        pieces = min(ideal, _MOST_ROWS // max(arcs, 1))
        if pieces:
            yield "level-trees", {"pieces": pieces, "lines": "arcs"}
        whole = all(fabric.wavelengths % (size - 1) == 0 for size in sizes)
        best = whole and len(set(sizes)) == 1 and pieces == ideal
        if fabric.switching == "tunable" and task.op == "broadcast":
            fewer = _pieces(fabric, task, max(len(sizes) - 1, 0))
            for near in (fewer, fewer + 1):
                yield "level-trees", {"pieces": near, "lines": "multicast"}
        elif fabric.switching == "tunable" and not best:
            longer = _pieces(fabric, task, sum(sizes) - len(sizes))
            yield "level-trees", {"pieces": longer, "lines": "chain"}

    def check(
        self, rounds: Sequence[TrafficRound], algorithm: str, arrangement: Arrangement
    ) -> None:
        """Raise if some transfer is between nodes that share no switch.

        Raises `InputError` if two nodes of a transfer share no switch, naming them.
        """
        far = self._far(rounds)
        if far is not None:
            raise InputError(
                f"{algorithm} sends between nodes that share no switch",
                where="algorithm",
                found=far,
                allowed="transfers of one hop",
                fix=f"use levels, or radices={','.join(map(str, arrangement.shape))}",
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

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds of one hop."""
        fluid = [one for one in rounds if isinstance(one.transfers, FluidTransfers)]
        far = self._far(fluid)
        if far is not None:
            raise InfeasibleError(
                "no switch has both nodes, and the demand does not allow relays",
                where="demand",
                found=far,
                fix="set `relays = true`, or state the task as a collective",
            )
        return realise_sipac(self.fabric, rounds)

    def _far(self, rounds: Sequence[TrafficRound]) -> str | None:
        """Return the first pair of nodes that share no switch, if there is one."""
        for one in rounds:
            src, dst = one.transfers.src, one.transfers.dst
            for row in np.flatnonzero(self.fabric.level_of(src, dst) < 0)[:1]:
                return f"{src[row]} -> {dst[row]}"
        return None


def _pieces(fabric: Sipac, task: Collective, hops: int) -> int:
    """Return into how many pieces a pipeline of hops, and one, best cuts a buffer.

    k pieces take k + h times alpha and a k-th of t, what the whole takes at the rate
    of a node: least at k = sqrt(h t / alpha).
    """
    whole_ps = transmission_ps(task.buffer_bytes, fabric.node_bits_per_s)
    ideal = isqrt(hops * whole_ps // max(fabric.alpha_ps, 1))
    return min(max(ideal, 1), _MOST_PIECES)


def _rows(fabric: Sipac) -> Rows:
    """Return the switches of level 0; the others number them."""
    return Rows(fabric.radix, (fabric.radix,) * fabric.level)


PLUG = FabricPlug(
    "sipac",
    realiser=SipacRealiser,
    circuits=CIRCUITS,
    layout=TrainingLayout(rows=_rows),
)
