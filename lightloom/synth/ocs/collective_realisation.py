"""The realisation of rounds on parallel optical switches.

Every port of a plan is a permutation, which one switch can hold; several hold it where
switches are plenty, and then share what each pair moves. Which rounds share their
circuits is decided as on LIGHTPATH, a switch taking the place of a wavelength.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import FluidTransfers, Segment, StepPart
from lightloom.synth.lightpath.reconfiguration_dp import Costs, segment
from lightloom.synth.ocs.lane_layers import layers_of, switch_traffic
from lightloom.synth.ocs.overlapped_walks import (
    baseline_walks,
    may_overlap,
    overlapped,
)
from lightloom.synth.ocs.plane_walks import LaneLayer, predicted_ps, walks_of
from lightloom.synth.realisation import Realisation, take_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Transfers
    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.synth.ocs.plane_walks import PlaneWalks
    from lightloom.synth.traffic import TrafficRound

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
