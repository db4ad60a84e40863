"""The choice of rounds that share a configuration, by a dynamic program.

Rounds that share one pay no reconfiguration between them but divide the lasers over
more lanes. `best_configurations` finds the best cut (formulation of reconfiguration
with delay: serve rounds a..b on one configuration, or cut between them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError
from lightloom.core.units import transmission_ps
from lightloom.synth.lightpath.wavelength_allocation import divide_lasers
from lightloom.synth.realisation import best_configurations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.synth.lightpath.wavelength_allocation import RoundSizes
    from lightloom.synth.traffic import LaneRound


@dataclass(frozen=True)
class Costs:
    """What time costs on a fabric: see `lightloom.core.fabric`."""

    alpha_ps: int
    reconfiguration_ps: int
    initial_configuration_charged: bool
    lasers: int
    bits_per_s_per_wavelength: int


@dataclass(frozen=True)
class LaneShare:
    """Some layers of a lane, with this many wavelengths for each layer."""

    lane: int
    layers: tuple[int, ...]
    wavelengths: int


@dataclass(frozen=True)
class Configuration:
    """What one segment will hold, and the rounds (inclusive) it serves.

    Several configurations may serve one round: then each serves some layers of it.
    """

    first_round: int
    last_round: int
    shares: tuple[LaneShare, ...]
    duration_ps: int


@dataclass(frozen=True)
class _Served:
    """Runs on one configuration, or one of them on several in turn."""

    configurations: tuple[Configuration, ...]
    duration_ps: int


@dataclass(frozen=True)
class _LaneRun:
    """Consecutive rounds that use the same lanes, each best with the same lasers.

    Nothing is gained by a cut between them: `spread`, the division of the lasers
    that is best for each alone, is best for them all; ``None`` if there is no room.
    """

    first_round: int
    last_round: int
    lanes: tuple[int, ...]
    spread: tuple[int, ...] | None
    rounds: tuple[LaneRound, ...]


def segment(
    rounds: Sequence[LaneRound], weights: Sequence[int], costs: Costs
) -> tuple[Configuration, ...]:
    """Return the configurations that serve the rounds in the least time.

    `weights`: layers of each lane: how many wavelengths it takes to serve it once.

    Returns configurations in order; `predicted_ps` of them is the completion time that
    replay will find. Optimal over all cuts of the sequence where the division of lasers
    is (`divide_lasers`). Cost: quadratic in the number of runs of rounds with equal
    lanes, less where lasers run out.

    Raises `InfeasibleError` if there is something to send and no laser to send it.
    """
    if rounds and not costs.lasers:
        what = "nothing can be sent: the nodes have no lasers"
        raise InfeasibleError(what, where="fabric.lasers", found=0)
    runs = _runs(rounds, weights, costs.lasers)

    def serve(first: int, last: int) -> _Served | None:
        """Return runs together, or a single one that has no room in several parts."""
        served = _shared(runs[first : last + 1], weights, costs)
        if served is None and first == last:
            served = _split(runs[first], weights, costs)
        if served is None:
            return None
        changes_ps = (len(served) - 1) * costs.reconfiguration_ps
        return _Served(served, sum(one.duration_ps for one in served) + changes_ps)

    if not runs:
        return ()
    best = best_configurations(len(runs), serve, costs.reconfiguration_ps)
    return tuple(one for served in best for one in served.configurations)


def predicted_ps(configurations: Sequence[Configuration], costs: Costs) -> int:
    """Return the completion time of one plane that walks the configurations.

    `configurations`: what the plane holds, in order; it may be empty.
    """
    charged = len(configurations)
    if configurations and not costs.initial_configuration_charged:
        charged -= 1
    return charged * costs.reconfiguration_ps + sum(
        configuration.duration_ps for configuration in configurations
    )


def _runs(
    rounds: Sequence[LaneRound], weights: Sequence[int], lasers: int
) -> list[_LaneRun]:
    runs: list[_LaneRun] = []
    for index, round_ in enumerate(rounds):
        lanes = tuple(sorted(round_.lanes))
        mine = tuple(weights[lane] for lane in lanes)
        spread = divide_lasers(mine, _sizes([round_], lanes), lasers)
        if runs and (runs[-1].lanes, runs[-1].spread) == (lanes, spread):
            last = runs.pop()
            together = (*last.rounds, round_)
            runs.append(_LaneRun(last.first_round, index, lanes, spread, together))
        else:
            runs.append(_LaneRun(index, index, lanes, spread, (round_,)))
    return runs


def _shared(
    runs: Sequence[_LaneRun], weights: Sequence[int], costs: Costs
) -> tuple[Configuration, ...] | None:
    """Return one configuration for all runs, or ``None`` if it has no room."""
    lanes = tuple(sorted({lane for run in runs for lane in run.lanes}))
    mine = tuple(weights[lane] for lane in lanes)
    if sum(mine) > costs.lasers:
        return None
    sizes = _sizes([round_ for run in runs for round_ in run.rounds], lanes)
    wavelengths = divide_lasers(mine, sizes, costs.lasers)
    if wavelengths is None:
        return None
    shares = tuple(
        LaneShare(lane, tuple(range(weights[lane])), count)
        for lane, count in zip(lanes, wavelengths, strict=True)
    )
    duration_ps = _duration_ps(sizes, wavelengths, costs)
    return (
        Configuration(runs[0].first_round, runs[-1].last_round, shares, duration_ps),
    )


def _sizes(rounds: Sequence[LaneRound], lanes: Sequence[int]) -> tuple[RoundSizes, ...]:
    """Return the distinct rounds as sizes per lane, with how often each occurs."""
    counted: dict[tuple[int, ...], int] = {}
    for round_ in rounds:
        size_of = dict(zip(round_.lanes, round_.size_bytes, strict=True))
        sizes = tuple(size_of.get(lane, 0) for lane in lanes)
        counted[sizes] = counted.get(sizes, 0) + 1
    return tuple((count, sizes) for sizes, count in counted.items())


def _duration_ps(
    rounds: Sequence[RoundSizes], wavelengths: Sequence[int], costs: Costs
) -> int:
    """Return the time of the rounds, reconfigurations left out."""
    rate = costs.bits_per_s_per_wavelength
    return sum(
        count
        * (
            costs.alpha_ps
            + max(
                transmission_ps(size, number * rate)
                for size, number in zip(sizes, wavelengths, strict=True)
            )
        )
        for count, sizes in rounds
    )


def _split(
    run: _LaneRun, weights: Sequence[int], costs: Costs
) -> tuple[Configuration, ...]:
    """Serve each round of a run that has no room by several configurations.

    Layers are dealt out largest first, so that those that move as much share a
    configuration; ``ceil(layers / lasers)`` of them is the least there can be.
    """
    configurations: list[Configuration] = []
    for offset, round_ in enumerate(run.rounds):
        index = run.first_round + offset
        units = sorted(
            (-size_bytes, lane, layer)
            for lane, size_bytes in zip(round_.lanes, round_.size_bytes, strict=True)
            for layer in range(weights[lane])
        )
        for first in range(0, len(units), costs.lasers):
            dealt = units[first : first + costs.lasers]
            configurations.append(_one_bin(index, dealt, costs))
    return tuple(configurations)


def _one_bin(
    index: int, units: Sequence[tuple[int, int, int]], costs: Costs
) -> Configuration:
    """Return the configuration of some (minus size, lane, layer) units of a round."""
    layers: dict[int, list[int]] = {}
    size_of: dict[int, int] = {}
    for minus_size, lane, layer in units:
        layers.setdefault(lane, []).append(layer)
        size_of[lane] = -minus_size
    sizes = ((1, tuple(size_of.values())),)
    mine = tuple(len(of_lane) for of_lane in layers.values())
    wavelengths = divide_lasers(mine, sizes, costs.lasers)
    assert wavelengths is not None
    shares = tuple(
        LaneShare(lane, tuple(of_lane), count)
        for (lane, of_lane), count in zip(layers.items(), wavelengths, strict=True)
    )
    return Configuration(index, index, shares, _duration_ps(sizes, wavelengths, costs))
