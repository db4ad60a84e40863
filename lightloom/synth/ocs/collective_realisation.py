"""The realisation of rounds on parallel optical switches.

Every port of a plan is a permutation, which one switch can hold; several hold it where
switches are plenty, and then share what each pair moves. Which rounds share their
circuits is decided as on LIGHTPATH, a switch taking the place of a wavelength.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import FluidTransfers, Segment, StepPart
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.plans.edge_colouring import edge_colours
from lightloom.plans.lifts import expected_hop_sum
from lightloom.synth.lightpath.reconfiguration_dp import Costs, segment
from lightloom.synth.ocs.plane_walks import (
    LaneLayer,
    baseline_walks,
    may_overlap,
    overlapped,
    predicted_ps,
    walks_of,
)
from lightloom.synth.realisation import Realisation, take_rows
from lightloom.synth.traffic import TrafficRound, lane_traffic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Transfers
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.plans.plan import RoundOutline
    from lightloom.synth.ocs.plane_walks import PlaneWalks
    from lightloom.synth.traffic import Lane, LaneTraffic


_MOST_PIECES = 64


class SwitchRounds:
    """Rounds of traffic with the segments of switches that carry them.

    `rounds`: traffic in order, between nodes.
    """

    def __init__(self, fabric: Ocs, rounds: Sequence[TrafficRound]) -> None:
        self._fabric, self._rounds = fabric, rounds
        self._traffic = switch_traffic(rounds, fabric.switches)
        self._layer = [
            layers_of(lane, bidirectional=fabric.bidirectional)
            for lane in self._traffic.lanes
        ]
        costs = Costs(
            fabric.alpha_ps,
            fabric.reconfiguration_ps,
            fabric.initial_configuration_charged,
            fabric.switches,
            fabric.bits_per_second_per_circuit,
        )
        weights = [int(layer.max(initial=0)) + 1 for layer in self._layer]
        self._walks = walks_of(
            segment(self._traffic.rounds, weights, costs), len(rounds), fabric.switches
        )

    def predicted_ps(self) -> int:
        """Return a lower bound on the completion time of `realisation(search=False)`.

        With a search, planes that change while others transmit may end sooner. Exact,
        to within the rounding of single transfers, where the switches that
        hold a pair can share its bytes evenly.
        """
        return predicted_ps(self._fabric, self._walks, self._all_sizes)

    def pieces(self) -> int:
        """Return how many pieces of a chunk let switches share all pairs evenly."""
        if self._may_overlap:
            return _MOST_PIECES
        counts = {
            len(places) for served in self._walks.served for places in served.values()
        }
        number = math.lcm(*counts)
        return number if number <= _MOST_PIECES else max(counts)

    def realisation(
        self, baseline: str | None = None, *, search: bool = True
    ) -> Realisation:
        """Return segments and steps, one for each round.

        Raises `InputError`: what the baseline cannot hold.
        """
        walks = self._walks
        if baseline is not None:
            walks = baseline_walks(self._fabric, self._all_sizes, baseline)
        elif search and self._may_overlap:
            walks = overlapped(self._fabric, walks, self._all_sizes)
        segments = tuple(
            Segment(plane, index, self._circuits(layer))
            for plane, held in enumerate(walks.held)
            for index, layer in enumerate(held)
        )
        return Realisation(segments, tuple(self._parts(walks)))

    @cached_property
    def _all_sizes(self) -> list[dict[LaneLayer, int]]:
        return [self._sizes(step) for step in range(len(self._rounds))]

    @cached_property
    def _may_overlap(self) -> bool:
        """Whether planes that change by themselves are worth a search."""
        return may_overlap(self._fabric, self._walks, self._all_sizes)

    def _layer_of_rows(self, step: int) -> IntArray:
        """Return the layer of each row of a round, counted through all its lanes."""
        lane_of_row = self._traffic.lane_of_row[step]
        layer = np.zeros(len(lane_of_row), dtype=np.int64)
        for lane in np.unique(lane_of_row).tolist():
            if self._layer[lane].any():
                mine = np.flatnonzero(lane_of_row == lane)
                src = self._rounds[step].transfers.src[mine]
                row = np.searchsorted(self._traffic.lanes[lane].src, src)
                layer[mine] = self._layer[lane][row]
        return layer

    def _sizes(self, step: int) -> dict[LaneLayer, int]:
        """Return the most bytes that a pair of each layer in use moves."""
        one = self._traffic.rounds[step]
        if not any(self._layer[lane].any() for lane in one.lanes):
            return {
                LaneLayer(lane, 0): size_bytes
                for lane, size_bytes in zip(one.lanes, one.size_bytes, strict=True)
            }
        transfers, layer = self._rounds[step].transfers, self._layer_of_rows(step)
        sizes: dict[LaneLayer, int] = {}
        lane_of_row = self._traffic.lane_of_row[step]
        columns = np.stack([lane_of_row, layer, transfers.src], axis=1)
        keys, where = np.unique(columns, axis=0, return_inverse=True)
        moved = np.zeros(len(keys), dtype=np.int64)
        np.add.at(moved, where.reshape(-1), self._rounds[step].size_bytes)
        for (lane, number, _), size_bytes in zip(
            keys.tolist(), moved.tolist(), strict=True
        ):
            key = LaneLayer(lane, number)
            sizes[key] = max(sizes.get(key, 0), size_bytes)
        return sizes

    def _circuits(self, held: LaneLayer) -> Circuits:
        lane = self._traffic.lanes[held.lane]
        rows = np.flatnonzero(self._layer[held.lane] == held.layer)
        return Circuits(lane.src[rows], lane.dst[rows])

    def _parts(self, walks: PlaneWalks) -> Iterator[StepPart]:
        """Yield the parts of every step, in order of (step, plane, segment)."""
        for step, served in enumerate(walks.served):
            transfers = self._rounds[step].transfers
            lane_of_row, layer = (
                self._traffic.lane_of_row[step],
                self._layer_of_rows(step),
            )
            found: list[tuple[int, int, Transfers | FluidTransfers]] = []
            for key, places in served.items():
                mine = (lane_of_row == key.lane) & (layer == key.layer)
                rows = np.flatnonzero(mine)
                weights = (1,) * len(places)
                if walks.shares is not None:
                    weights = walks.shares[step][key]
                shares = _shared(take_rows(transfers, rows), weights)
                for (plane, index), share in zip(places, shares, strict=True):
                    if len(share):
                        found.append((plane, index, share))
            for plane, index, share in sorted(found, key=lambda part: part[:2]):
                yield StepPart(step, plane, index, share)


def _shared(
    transfers: Transfers | FluidTransfers, weights: tuple[int, ...]
) -> list[Transfers | FluidTransfers]:
    """Return transfers divided among planes, what a pair moves in given proportions."""
    if len(weights) == 1:
        return [transfers]
    order = np.argsort(transfers.src, kind="stable")
    sorted_ = take_rows(transfers, order)
    if isinstance(sorted_, FluidTransfers):
        length = sorted_.bytes
    else:
        length = sorted_.chunk_hi - sorted_.chunk_lo
    end = np.cumsum(length)
    first = np.flatnonzero(np.diff(sorted_.src, prepend=-1))
    pair = np.cumsum(np.diff(sorted_.src, prepend=-1) != 0) - 1
    before = (end - length)[first][pair]
    total = np.add.reduceat(length, first)[pair] if len(first) else length
    begin = end - length - before
    shares: list[Transfers | FluidTransfers] = []
    ends = np.cumsum((0, *weights)).tolist()
    for before_plane, through_plane in pairwise(ends):
        low = np.maximum(begin, _part(total, before_plane, ends[-1]))
        high = np.minimum(begin + length, _part(total, through_plane, ends[-1]))
        rows = np.flatnonzero(high > low)
        taken = take_rows(sorted_, rows)
        if isinstance(taken, FluidTransfers):
            shares.append(replace(taken, bytes=high[rows] - low[rows]))
            continue
        at = taken.chunk_lo - begin[rows]
        shares.append(replace(taken, chunk_lo=at + low[rows], chunk_hi=at + high[rows]))
    return shares


def _part(total: IntArray, weight: int, whole: int) -> IntArray:
    """Return ``total * weight // whole``, whose product may not fit."""
    each, rest = np.divmod(total, whole)
    part: IntArray = each * weight + rest * weight // whole
    return part


def switch_traffic(rounds: Sequence[TrafficRound], switches: int) -> LaneTraffic:
    """Return rounds as lanes, on circuits that never change where these suffice.

    Where all pairs of all rounds together can be coloured with as many colours as
    there are switches (König), they are: a colour is a lane. Else, or where ports of
    the plan are such lanes already, the ports are the lanes.
    """
    traffic = lane_traffic(rounds)
    if len(traffic.lanes) <= switches or len(rounds) <= 1:
        return traffic
    src, dst = (
        np.concatenate(columns)
        for columns in zip(
            *((one.transfers.src, one.transfers.dst) for one in rounds), strict=True
        )
    )
    width = 1 + int(max(src.max(), dst.max()))
    pairs, where = np.unique(src * width + dst, return_inverse=True)
    ends = (pairs // width, pairs % width)
    if max(int(np.bincount(end).max()) for end in ends) > switches:
        return traffic
    port = edge_colours(*ends)[where.reshape(-1)]
    starts = np.cumsum([len(one.port) for one in rounds])[:-1]
    return lane_traffic(
        [
            TrafficRound(one.transfers, one.size_bytes, mine)
            for one, mine in zip(rounds, np.split(port, starts), strict=True)
        ]
    )


def layers_of(lane: Lane, *, bidirectional: bool) -> IntArray:
    """Return which layer each pair of a lane is in, from 0 without gaps.

    A switch whose circuits lead one way holds any lane. One that joins ports both
    ways holds a matching: seen so, a lane is made of paths and cycles, whose pairs
    are in layers 0 and 1 in turn; the last pair of a cycle of odd length is in
    layer 2.
    """
    layer = np.zeros(len(lane.src), dtype=np.int64)
    if not bidirectional:
        return layer
    row_of = {node: row for row, node in enumerate(lane.src.tolist())}
    into = set(lane.dst.tolist())
    dst = lane.dst.tolist()
    # Paths begin where nothing enters; what is left are cycles.
    starts = sorted(row_of, key=lambda node: (node in into, node))
    left = set(row_of)
    for start in starts:
        walk: list[int] = []
        node = start
        while node in left:
            left.remove(node)
            walk.append(row_of[node])
            node = dst[row_of[node]]
        closed = bool(walk) and node == start
        if closed and len(walk) <= 2:
            continue
        layer[walk] = np.arange(len(walk)) % 2
        if closed and len(walk) % 2:
            layer[walk[-1]] = 2
    return layer


def outlined_switch_ps(
    fabric: Ocs, rounds: Sequence[RoundOutline], buffer_bytes: int
) -> int:
    """Return a lower bound on the time of rounds, whatever switches hold and when.

    Rounds follow one another, and each takes alpha and its data over all ports of the
    rank that its outline is about. On the other hand the ports of that rank together
    spend a reconfiguration on every circuit that they hold in turn, alpha on every
    stream, and the time of its data.

    `rounds`: what the rounds of a plan take at least.
    """
    if not rounds:
        return 0
    charged, ports = fabric.initial_configuration_charged, fabric.switches
    first_ps = fabric.reconfiguration_ps if charged else 0
    byte_ps = Fraction(BITS_PER_BYTE * PS_PER_S, fabric.bits_per_second_per_circuit)
    data_ps = sum(each.streams * each.share for each in rounds) * buffer_bytes * byte_ps
    in_turn_ps = first_ps + len(rounds) * fabric.alpha_ps + data_ps / ports
    circuits: dict[int, int] = {}
    for each in rounds:
        circuits[each.circuits] = max(circuits.get(each.circuits, 0), each.streams)
    held = sum(circuits.values()) - (0 if charged else ports)
    used = sum(each.streams for each in rounds)
    busy_ps = held * fabric.reconfiguration_ps + used * fabric.alpha_ps + data_ps
    return max(ceil(in_turn_ps), ceil(busy_ps / ports))


_FURTHER_ROUNDS = 8
_MOST = 2


def rounds_in_turn(
    fabric: Ocs, ranks: int, ports: int, buffer_bytes: int
) -> list[tuple[int, ...]]:
    """Return rounds of configurations that take turns, those that promise most first.

    All switches change together. Every number of configurations and of rounds is
    compared by the time that `expected_hop_sum` says; none is returned that promises no
    more than a single configuration does, or a direct exchange.

    `ranks`: number of ranks, at least 2.
    """
    byte_ps = Fraction(BITS_PER_BYTE * PS_PER_S, fabric.bits_per_second_per_circuit)
    hop_ps = buffer_bytes * byte_ps / ranks / ports
    charged = 1 if fabric.initial_configuration_charged else 0
    direct = -(-(ranks - 1) // ports)
    found: list[tuple[Fraction, tuple[int, ...]]] = []
    for count in range(1, direct):
        for steps in range(count, count + _FURTHER_ROUNDS):
            each, more = divmod(steps, count)
            rounds = (each + 1,) * more + (each,) * (count - more)
            hops = expected_hop_sum(ranks, ports, rounds)
            if hops is not None:
                changes = count - 1 + charged
                fixed_ps = changes * fabric.reconfiguration_ps + steps * fabric.alpha_ps
                found.append((fixed_ps + hops * hop_ps, rounds))
    each_ps = fabric.reconfiguration_ps + fabric.alpha_ps + ports * hop_ps
    direct_ps = direct * each_ps - (1 - charged) * fabric.reconfiguration_ps
    best: list[tuple[int, ...]] = []
    for least_ps, rounds in sorted(found):
        if len(best) == _MOST or len(rounds) == 1 or least_ps >= direct_ps:
            break
        best.append(rounds)
    return best
