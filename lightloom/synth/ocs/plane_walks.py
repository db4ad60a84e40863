"""What each switch holds, segment by segment, for rounds of lanes, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lightloom.core.units import transmission_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.instances.fabrics.ocs import Ocs
    from lightloom.synth.lightpath.reconfiguration_dp import Configuration


class LaneLayer(NamedTuple):
    """Pairs of a lane that one switch can hold: all, where circuits lead one way."""

    lane: int
    layer: int


@dataclass(frozen=True, eq=False)
class PlaneWalks:
    """What each switch holds in turn, and which switches serve a round.

    `held`: for each plane the layers that it holds, in order. `served`: for each round
    the (plane, segment) pairs that hold each layer, by layer. `shares`: for each round
    what each of these moves of what a pair moves, as integers in proportion, by layer;
    ``None`` where all move the same.
    """

    held: tuple[tuple[LaneLayer, ...], ...]
    served: tuple[dict[LaneLayer, tuple[tuple[int, int], ...]], ...]
    shares: tuple[dict[LaneLayer, tuple[int, ...]], ...] | None = None

    @property
    def changes(self) -> int:
        """How often planes are reconfigured after their first circuits."""
        return sum(max(0, len(held) - 1) for held in self.held)


def walks_of(
    configurations: Sequence[Configuration], rounds: int, planes: int
) -> PlaneWalks:
    """Return what planes hold so that they pass through configurations.

    A plane that holds what a configuration needs keeps it, and is not reconfigured.
    Other layers go to planes that have been idle longest: these may change while
    earlier rounds still transmit.

    `configurations`: in order; each has as many wavelengths as there are planes, or
    fewer.
    """
    held: list[list[LaneLayer]] = [[] for _ in range(planes)]
    last_used = [-1] * planes
    served: list[dict[LaneLayer, tuple[tuple[int, int], ...]]] = [
        {} for _ in range(rounds)
    ]
    for index, configuration in enumerate(configurations):
        wanted = [
            (LaneLayer(share.lane, layer), share.wavelengths)
            for share in configuration.shares
            for layer in share.layers
        ]
        taken: dict[LaneLayer, list[int]] = {}
        for layer, count in wanted:
            keeping = [p for p in range(planes) if held[p] and held[p][-1] == layer]
            taken[layer] = keeping[:count]
        busy = {plane for some in taken.values() for plane in some}
        free = [plane for plane in range(planes) if plane not in busy]
        free.sort(key=lambda plane: (last_used[plane], plane))
        spare = iter(free)
        for layer, count in wanted:
            for _ in range(count - len(taken[layer])):
                plane = next(spare)
                held[plane].append(layer)
                taken[layer].append(plane)
            for plane in taken[layer]:
                last_used[plane] = index
        for round_ in range(configuration.first_round, configuration.last_round + 1):
            for layer, used in taken.items():
                places = tuple((plane, len(held[plane]) - 1) for plane in sorted(used))
                served[round_][layer] = places
    return PlaneWalks(tuple(tuple(some) for some in held), tuple(served))


def predicted_ps(
    fabric: Ocs, walks: PlaneWalks, sizes: Sequence[dict[LaneLayer, int]]
) -> int:
    """Return when rounds end, each plane changing as soon as it can.

    `sizes`: for each round the most bytes that a pair of each layer moves, by layer;
    layers that move nothing are left out.

    Returns exact where the planes that hold a pair can share its bytes evenly, to
    within the rounding of single transfers; else less than replay says, unless a plane
    without a share could change before the others.
    """
    delay_ps = fabric.reconfiguration_ps
    first_ps = delay_ps if fabric.initial_configuration_charged else 0
    rate = fabric.bits_per_second_per_circuit
    # By plane: the segment that is there, since when, and the end of its transfers.
    there = [(0, first_ps, first_ps)] * len(walks.held)
    released_ps = 0
    for round_, moved in zip(walks.served, sizes, strict=True):
        ended_ps = released_ps
        for layer, size_bytes in moved.items():
            places = round_[layer]
            lasts_ps = fabric.alpha_ps
            lasts_ps += transmission_ps(size_bytes, rate * len(places))
            for plane, segment in places:
                index, since_ps, free_ps = there[plane]
                while index < segment:
                    since_ps = free_ps = free_ps + delay_ps
                    index += 1
                end_ps = max(released_ps, since_ps) + lasts_ps
                there[plane] = (index, since_ps, end_ps)
                ended_ps = max(ended_ps, end_ps)
        released_ps = ended_ps
    return released_ps
