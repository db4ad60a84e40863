"""The plug of SiPAC: transfers of one hop, by the shuffle or by tuned switches."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import ALONE, Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import FluidTransfers, Transfers
from lightloom.core.task import Demand
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.plans.edge_colouring import edge_colours
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.lanes import LaneWays
from lightloom.synth.demand_rounds import CONFIGURATIONS, EDGE_COLOURING
from lightloom.synth.fabrics.plug import FabricPlug
from lightloom.synth.fabrics.realiser import Arrangement, CircuitRealiser
from lightloom.synth.fabrics.training_plug import (
    Rows,
    TrainingCircuits,
    TrainingLayout,
    five_delays,
)
from lightloom.synth.lightpath.wavelength_allocation import divide_lasers
from lightloom.synth.ocs.switch_circuits import switch_circuits
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.realisation import realised_rounds
from lightloom.synth.relays.pair_lines import PairLines, end_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.setting import Setting
    from lightloom.synth.fabrics.training_plug import PlaneCircuits
    from lightloom.synth.realisation import Realisation, RoundPairs
    from lightloom.synth.traffic import TrafficRound


class SipacRealiser(CircuitRealiser[Sipac]):
    """Lights rounds of one hop, by the shuffle or by tuned switches.

    ``auto`` compares `levels` with one part and with as many as there are levels,
    rings along the levels, for all-reduce sums along levels, and for broadcast
    and reduce the way through blocks and pipelined trees. Any other algorithm will do
    whose transfers all go one hop.
    """

    demand_algorithms = (EDGE_COLOURING, CONFIGURATIONS)
    divided_demands = (CONFIGURATIONS,)

    def arrange(self, task: Collective) -> Arrangement:
        """Return the nodes in the order of the box that they fill."""
        order, shape = _box_of(self.fabric, task.nodes)
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
        fixed = self.fabric.switching == "fixed"
        return realised_rounds(self, rounds, together=fixed)

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

    def light(self, demand: Demand) -> Circuits:
        """Return the circuits that serve the slowest pair of a demand best."""
        return _lasting_circuits(self.fabric, demand)

    def light_rounds(
        self, pairs: RoundPairs, light: Callable[[Demand], Circuits]
    ) -> Circuits:
        """Return the fastest of the ways to light all pairs at once."""
        del light
        return _best_circuits(self.fabric, pairs)

    def _far(self, src: IntArray, dst: IntArray) -> str | None:
        """Return the first pair of nodes that share no switch, if there is one."""
        for row in np.flatnonzero(self.fabric.level_of(src, dst) < 0)[:1]:
            return f"{src[row]} -> {dst[row]}"
        return None


# -- nodes of a collective -----------------------------------------------------------


def _box_of(
    fabric: Sipac, nodes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return nodes in the order of a box, and its shape, the last digit fastest.

    Nodes form a box if they have some ports of every level in all combinations. Ranks
    in that order differ along one dimension exactly if they share a switch.

    Raises `InfeasibleError` if some nodes cannot hear of others at all: only nodes of
    the collective forward, and no chain of shared switches joins them; `InputError` if
    the nodes are no box.
    """
    node = np.sort(np.array(nodes, dtype=np.int64))
    spans = [
        np.unique(fabric.port(node, level)) for level in reversed(range(fabric.levels))
    ]
    shape = tuple(len(span) for span in spans)
    if prod(shape) == len(node):
        return tuple(node.tolist()), shape
    _require_connected(fabric, nodes)
    ports = ", ".join(str(span.tolist()) for span in spans)
    raise InputError(
        "invalid nodes: they are not all combinations of some ports",
        where="collective.nodes",
        found=f"{len(node)} nodes on ports {ports} of levels {fabric.level} to 0",
        allowed=f"{prod(shape)} nodes, or a full switch, or all nodes",
    )


def _require_connected(fabric: Sipac, nodes: tuple[int, ...]) -> None:
    """Raise unless shared switches join all nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    node = np.array(nodes, dtype=np.int64)
    switches = []
    for level in range(fabric.levels):
        number = node - fabric.port(node, level) * fabric.radix**level
        switches.append(level * fabric.node_count + number)
    _, switch = np.unique(np.concatenate(switches), return_inverse=True)
    row = np.tile(np.arange(len(node)), fabric.levels)
    size = len(node) + int(switch.max()) + 1
    joins = coo_array(
        (np.ones(len(row), dtype=np.int8), (row, len(node) + switch)), (size, size)
    )
    _, part = connected_components(joins, directed=False)
    apart = np.flatnonzero(part[: len(node)] != part[0])
    if len(apart):
        what = "shared switches do not connect the nodes"
        found = f"nodes {nodes[0]} and {nodes[apart[0]]}"
        raise InfeasibleError(what, where="collective.nodes", found=found)


# -- circuits of rounds --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Hops:
    """Pairs of rounds, each one hop apart.

    `level`: of the switch of each pair; `port`: number of its source and that level;
    `alike`: whether, in every round, what the source sends on the level is the same for
    all whom it sends to there. All of shape (pairs,).
    """

    src: IntArray
    dst: IntArray
    size_bytes: IntArray
    level: IntArray
    port: IntArray
    alike: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, fabric: Sipac, pairs: RoundPairs) -> _Hops:
        """Return the pairs of rounds in which all transfers go one hop."""
        level = fabric.level_of(pairs.src, pairs.dst)
        port = pairs.src * fabric.levels + level
        keys = pairs.src * fabric.node_count + pairs.dst
        alike = np.ones(len(keys), dtype=np.bool_)
        for piece in pairs.pieces:
            moved = piece.transfers
            place = np.searchsorted(keys, moved.src * fabric.node_count + moved.dst)
            alike &= ~np.isin(port, port[_odd(moved, place, port)])
        return cls(pairs.src, pairs.dst, pairs.size_bytes, level, port, alike)


def _odd(
    moved: Transfers | FluidTransfers, place: IntArray, port: IntArray
) -> IntArray:
    """Return pairs that send other chunks than the first pair of their port does.

    `place`: the pair of each of its rows. `port`: which source and level each pair is
    of.
    """
    if not isinstance(moved, Transfers):
        return np.unique(place)  # nobody else's bytes are the same
    order = np.argsort(place, kind="stable")
    present, begin = np.unique(place[order], return_index=True)
    length = np.diff(begin, append=len(order))
    lead_of: dict[int, int] = {}
    lead = [
        lead_of.setdefault(number, index)
        for index, number in enumerate(port[present].tolist())
    ]
    odd = length != length[lead]
    same = np.flatnonzero(~odd)
    within = np.arange(int(length[same].sum()))
    within -= np.repeat(np.cumsum(length[same]) - length[same], length[same])
    mine = order[np.repeat(begin[same], length[same]) + within]
    other = order[np.repeat(begin[np.array(lead)[same]], length[same]) + within]
    differ = moved.chunk_lo[mine] != moved.chunk_lo[other]
    differ |= moved.chunk_hi[mine] != moved.chunk_hi[other]
    odd[np.repeat(same, length[same])[differ]] = True
    found: IntArray = present[odd]
    return found


def _best_circuits(fabric: Sipac, pairs: RoundPairs) -> Circuits:
    """Return the fastest of the ways to light all pairs at once.

    Among equals the shuffle is taken, then circuits of one destination each.
    """
    hops = _Hops.of(fabric, pairs)
    ways = [_shuffled(fabric, hops)]
    if fabric.switching == "tunable":
        ways += filter(None, (_coloured(fabric, hops), _shared(fabric, hops)))
    return min(ways, key=lambda circuits: pairs.last_ps(fabric, circuits))


def _shuffled(fabric: Sipac, hops: _Hops) -> Circuits:
    """Return the circuits of the shuffle: equally many wavelengths for every pair."""
    further = fabric.port(hops.dst, hops.level) - fabric.port(hops.src, hops.level)
    group = (further - (not fabric.loopback)) % fabric.radix
    each = fabric.wavelengths_per_peer
    colour = group[:, None] + np.arange(each, dtype=np.int64) * fabric.groups
    lengths = np.full(len(group), each, dtype=np.int64)
    wavelengths = Ragged.from_lengths(lengths, colour.reshape(-1))
    return Circuits(hops.src, hops.dst, wavelengths)


def _coloured(fabric: Sipac, hops: _Hops) -> Circuits | None:
    """Return circuits in which pairs share a fibre's wavelengths as they need them.

    The pairs of a level fall into as few partial permutations of ports as there can
    be, each of which gets some wavelengths. ``None`` if there are too few.
    """
    colour = np.zeros(len(hops.src), dtype=np.int64)
    for level in range(fabric.levels):
        mine = np.flatnonzero(hops.level == level)
        colour[mine] = edge_colours(hops.src[mine], hops.dst[mine])
    wavelengths = _dealt(fabric, hops, colour)
    return None if wavelengths is None else Circuits(hops.src, hops.dst, wavelengths)


def _shared(fabric: Sipac, hops: _Hops) -> Circuits | None:
    """Return circuits of several destinations wherever these get the same.

    All that a source sends to on a level hear it on the same wavelengths. Sources
    whose destinations overlap take different ones: colours are given greedily, in
    order of (level, source). ``None`` if nothing is shared, or there are too few.
    """
    port = hops.port
    lit = np.where(hops.alike, port, -1 - np.arange(len(port)))
    _, circuit = np.unique(lit, return_inverse=True)
    several = np.bincount(circuit)[circuit] > 1
    if not several.any():
        return None
    colour = _overlap_colours(fabric, hops, circuit)
    wavelengths = _dealt(fabric, hops, colour)
    if wavelengths is None:
        return None
    multicast = np.full(len(port), ALONE, dtype=np.int64)
    _, number = np.unique(circuit[several], return_inverse=True)
    multicast[several] = number
    return Circuits(hops.src, hops.dst, wavelengths, multicast=multicast)


def _overlap_colours(fabric: Sipac, hops: _Hops, circuit: IntArray) -> IntArray:
    """Return the least colour free at a circuit's source and all destinations."""
    port, bus = hops.port, hops.dst * fabric.levels + hops.level
    order = np.lexsort((hops.dst, circuit, port, hops.level))
    rows = np.split(order, np.flatnonzero(np.diff(circuit[order])) + 1)
    sent: dict[int, int] = {}
    heard: dict[int, int] = {}
    colour = np.zeros(len(port), dtype=np.int64)
    for mine in rows:
        source = int(port[mine[0]])
        taken = sent.get(source, 0)
        for number in bus[mine].tolist():
            taken |= heard.get(number, 0)
        free = (taken + 1) & ~taken
        colour[mine] = free.bit_length() - 1
        sent[source] = sent.get(source, 0) | free
        for number in bus[mine].tolist():
            heard[number] = heard.get(number, 0) | free
    return colour


def _dealt(fabric: Sipac, hops: _Hops, colour: IntArray) -> Ragged | None:
    """Return the wavelengths of each pair, dealt to the colours of its level.

    Colours that move more get more, so that the rounds together end soonest.
    """
    first = np.zeros(len(colour), dtype=np.int64)
    count = np.zeros(len(colour), dtype=np.int64)
    for level in range(fabric.levels):
        mine = np.flatnonzero(hops.level == level)
        if not len(mine):
            continue
        colours = int(colour[mine].max()) + 1
        most = np.zeros((len(hops.size_bytes), colours), dtype=np.int64)
        for number, size_bytes in enumerate(hops.size_bytes):
            np.maximum.at(most[number], colour[mine], size_bytes[mine])
        sizes, often = np.unique(most, axis=0, return_counts=True)
        rounds = tuple(
            (number, tuple(row))
            for number, row in zip(often.tolist(), sizes.tolist(), strict=True)
        )
        dealt = divide_lasers((1,) * colours, rounds, fabric.wavelengths)
        if dealt is None:
            return None
        each = np.array(dealt, dtype=np.int64)
        count[mine] = each[colour[mine]]
        first[mine] = (np.cumsum(each) - each)[colour[mine]]
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return Ragged.from_lengths(count, np.repeat(first, count) + within)


# -- circuits of a training ----------------------------------------------------------


def _lasting_circuits(fabric: Sipac, demand: Demand) -> Circuits:
    """Return the shuffle where it is fixed, else the optimum of each switch.

    A switch is one of SiP-ML's for each wavelength, and there are enough of them for
    all that share it.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.node_count)
    level = fabric.level_of(src, dst)
    for row in np.flatnonzero(level < 0)[:1].tolist():
        raise InfeasibleError(
            f"no switch has both nodes {src[row]} and {dst[row]}",
            where=f"demand row {row}",
            allowed="pairs of one hop",
            fix="place them on one switch",
        )
    if fabric.switching == "fixed":
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        shuffled = Ragged.from_lists([fabric.shuffled(*pair) for pair in pairs])
        return Circuits(src, dst, shuffled)
    one, other = (fabric.port(nodes, level) for nodes in (src, dst))
    switch = level * fabric.node_count + src - one * fabric.radix**level
    order = np.argsort(switch, kind="stable")
    starts = np.flatnonzero(np.diff(switch[order], prepend=-1))
    known: dict[Demand, list[list[int]]] = {}
    lit: list[list[int]] = []
    for rows in np.split(order, starts[1:]) if len(order) else ():
        columns = (one[rows], other[rows], size_bytes[rows])
        tail, head, size = (tuple(each.tolist()) for each in columns)
        part = Demand(tail, head, size)
        if part not in known:
            known[part] = _switch_wavelengths(fabric, part)
        lit += known[part]
    return Circuits(src[order], dst[order], Ragged.from_lists(lit))


def _switch_wavelengths(fabric: Sipac, part: Demand) -> list[list[int]]:
    """Return the wavelengths of each pair of a switch."""
    lanes = Ocs(
        nodes=fabric.radix,
        switches=fabric.wavelengths,
        bits_per_second_per_node=fabric.node_bits_per_s,
    )
    plan = switch_circuits(lanes, part)
    lit: list[list[int]] = [[] for _ in part.src]
    for wavelength, pairs in enumerate(plan.pairs):
        for pair in pairs.tolist():
            lit[pair].append(wavelength)
    return lit


def _circuits(fabric: Sipac, demand: Demand) -> PlaneCircuits:
    return {0: _lasting_circuits(fabric, demand)}


def _rows(fabric: Sipac) -> Rows:
    """Return the switches of level 0; the others number them."""
    return Rows(fabric.radix, (fabric.radix,) * fabric.level)


PLUG = FabricPlug(
    "sipac",
    realiser=SipacRealiser,
    circuits=TrainingCircuits(
        lambda fabric: fabric.radix,  # devices of one model share a switch
        *(_circuits, _circuits, _circuits),
        five_delays,
    ),
    layout=TrainingLayout(rows=_rows),
)
