"""The realisation of rounds on a LIGHTPATH rack, segment by segment."""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.schedule import Segment, StepPart
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.routing.rectangle_cuts import every_permutation_fits, rectangle_cut
from lightloom.routing.waveguide_layers import pack
from lightloom.synth.lightpath.reconfiguration_dp import Costs, predicted_ps, segment
from lightloom.synth.realisation import Realisation, take_rows
from lightloom.synth.traffic import lane_traffic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.plans.plan import RoundOutline
    from lightloom.routing.waveguide_layers import Layers
    from lightloom.synth.lightpath.reconfiguration_dp import Configuration
    from lightloom.synth.traffic import Lane, LaneTraffic, TrafficRound


def fabric_costs(fabric: Lightpath) -> Costs:
    """Return what time costs on a LIGHTPATH rack, for `reconfiguration_dp`."""
    return Costs(
        fabric.alpha_ps,
        fabric.reconfiguration_ps,
        fabric.initial_configuration_charged,
        fabric.lasers,
        fabric.bits_per_second_per_wavelength,
    )


def outlined_ps(
    fabric: Lightpath, rounds: Sequence[RoundOutline], buffer_bytes: int
) -> int:
    """Return a lower bound on `least_ps` of a plan of which little is known.

    The best cut of the rounds into configurations, in which a round leaves a wavelength
    to every stream of the others. Of k streams one has at most floor(m / k) of the m
    wavelengths left to them; where k is more than the lasers, several configurations
    share the time of all.

    Rounds alike that follow one another share one: of two configurations that hold some
    of them, the one with fewer streams can take those of the other.
    """
    if not rounds or not fabric.lasers:
        return 0
    buffer_bits_ps = buffer_bytes * BITS_PER_BYTE * PS_PER_S
    rate, lasers = fabric.bits_per_second_per_wavelength, fabric.lasers
    runs = [(outline, sum(1 for _ in alike)) for outline, alike in groupby(rounds)]
    best_ps = [0]
    for end in range(1, len(runs) + 1):
        choices = []
        streams: dict[int, int] = {}
        for start in range(end - 1, -1, -1):
            first, count = runs[start]
            used = first.streams + first.idle
            streams[first.circuits] = max(streams.get(first.circuits, 0), used)
            lit = sum(streams.values())
            if lit > lasers and start < end - 1:
                break
            configurations = count if lit > lasers else 1
            time_ps = best_ps[start] + configurations * fabric.reconfiguration_ps
            for outline, times in runs[start:end]:
                bits_ps = buffer_bits_ps * outline.share.numerator
                unit = rate * outline.share.denominator
                if lit > lasers:
                    data_ps = -(-bits_ps * outline.streams // (unit * lasers))
                else:
                    most = (lasers - lit + outline.streams) // outline.streams
                    data_ps = -(-bits_ps // (unit * most))
                time_ps += times * (fabric.alpha_ps + data_ps)
            choices.append(time_ps)
        best_ps.append(min(choices))
    charged = fabric.initial_configuration_charged
    return best_ps[-1] - (0 if charged else fabric.reconfiguration_ps)


def least_ps(
    fabric: Lightpath,
    rounds: Sequence[TrafficRound],
    light_paths: LightPaths | None = None,
) -> int:
    """Return a lower bound on the completion time of `realise_lightpath`.

    Exact, but for the rounding of single transfers, where every lane fits its
    waveguides. Nothing is routed.

    `light_paths`: if given, lanes that cuts show not to fit their waveguides count with
    the layers they need at least; else waveguides are plenty.

    Raises `InfeasibleError` if there is something to send and no laser to send it.
    """
    traffic, costs = lane_traffic(rounds), fabric_costs(fabric)
    weights = [
        1 if light_paths is None else light_paths.least_layers(lane)
        for lane in traffic.lanes
    ]
    return predicted_ps(segment(traffic.rounds, weights, costs), costs)


def realise_lightpath(
    fabric: Lightpath, rounds: Sequence[TrafficRound], light_paths: LightPaths
) -> Realisation:
    """Return segments and steps that carry the rounds, one step for each round.

    A round that does not fit is served by several segments within its step, so
    that transfers which must read the same state still do.

    `light_paths`: routes of lanes on this rack; what it finds is kept for the next
    call.

    Raises `InfeasibleError` if some pair has no light path at all.
    """
    traffic, costs = lane_traffic(rounds), fabric_costs(fabric)
    weights = [light_paths.layers(lane).layer_count for lane in traffic.lanes]
    configurations = segment(traffic.rounds, weights, costs)
    segments = tuple(
        Segment(0, index, _circuits(configuration, traffic.lanes, light_paths))
        for index, configuration in enumerate(configurations)
    )
    parts = tuple(_parts(rounds, traffic, configurations, light_paths))
    return Realisation(segments, parts)


def _circuits(
    configuration: Configuration, lanes: Sequence[Lane], light_paths: LightPaths
) -> Circuits:
    """Return the circuits of a configuration, sorted by (src, dst)."""
    src: list[IntArray] = []
    dst: list[IntArray] = []
    first: list[IntArray] = []
    count: list[IntArray] = []
    lengths: list[IntArray] = []
    nodes: list[IntArray] = []
    wavelength = 0
    for share in configuration.shares:
        packed = light_paths.layers(lanes[share.lane])
        for layer in share.layers:
            rows = np.flatnonzero(packed.layer == layer)
            route = packed.route.take(rows)
            src.append(lanes[share.lane].src[rows])
            dst.append(lanes[share.lane].dst[rows])
            first.append(np.full(len(rows), wavelength, dtype=np.int64))
            count.append(np.full(len(rows), share.wavelengths, dtype=np.int64))
            lengths.append(route.lengths)
            nodes.append(route.values)
            wavelength += share.wavelengths
    route = Ragged.from_lengths(np.concatenate(lengths), np.concatenate(nodes))
    start, number = np.concatenate(first), np.concatenate(count)
    within = np.arange(int(number.sum())) - np.repeat(
        np.cumsum(number) - number, number
    )
    wavelengths = Ragged.from_lengths(number, np.repeat(start, number) + within)
    source, target = np.concatenate(src), np.concatenate(dst)
    order = np.lexsort((start, target, source))
    return Circuits(
        source[order], target[order], wavelengths.take(order), route.take(order)
    )


def _parts(
    rounds: Sequence[TrafficRound],
    traffic: LaneTraffic,
    configurations: Sequence[Configuration],
    light_paths: LightPaths,
) -> list[StepPart]:
    """Return the parts of every step, in order of (step, segment)."""
    parts: list[StepPart] = []
    for index, configuration in enumerate(configurations):
        for step in range(configuration.first_round, configuration.last_round + 1):
            lane_of_row = traffic.lane_of_row[step]
            chosen = np.zeros(len(lane_of_row), dtype=bool)
            for share in configuration.shares:
                mine = np.flatnonzero(lane_of_row == share.lane)
                packed = light_paths.layers(traffic.lanes[share.lane])
                if len(share.layers) < packed.layer_count:
                    sources = traffic.lanes[share.lane].src
                    row = np.searchsorted(sources, rounds[step].transfers.src[mine])
                    mine = mine[np.isin(packed.layer[row], share.layers)]
                chosen[mine] = True
            transfers = rounds[step].transfers
            if not chosen.all():
                transfers = take_rows(transfers, np.flatnonzero(chosen))
            parts.append(StepPart(step, 0, index, transfers))
    return parts


class LightPaths:
    """Routes lanes on a fabric, each distinct lane once.

    A lane that fits its waveguides is one layer: one wavelength serves it. A lane
    that does not is cut into several.

    `seed`: of random choices, 0 or more.
    """

    def __init__(self, fabric: Lightpath, router: str, seed: int) -> None:
        self._fabric = fabric
        self._router = router
        self._seed = seed
        tail, head = fabric.edges()
        self._capacity = fabric.edge_waveguides(tail, head)
        self._packed: dict[bytes, Layers] = {}
        self._least: dict[bytes, int] = {}

    @cached_property
    def _roomy(self) -> bool:
        """Whether cuts prove nothing, whatever the lane."""
        return every_permutation_fits(self._fabric, self._capacity)

    def least_layers(self, lane: Lane) -> int:
        """Return a lower bound (1 or more) on the layers of a lane, not routing it."""
        key = lane.key()
        if key in self._packed:
            return self._packed[key].layer_count
        if self._roomy:
            return 1
        if key not in self._least:
            cut = rectangle_cut(
                self._fabric, lane.src, lane.dst, capacity=self._capacity
            )
            self._least[key] = max(cut.bound, 1)
        return self._least[key]

    def layers(self, lane: Lane) -> Layers:
        """Return the layers and routes of a lane.

        Raises `InfeasibleError` if some pair of it has no light path at all.
        """
        key = lane.key()
        if key not in self._packed:
            self._packed[key] = pack(
                self._fabric,
                lane.src,
                lane.dst,
                capacity=self._capacity,
                seed=self._seed,
                router=self._router,
            )
        return self._packed[key]
