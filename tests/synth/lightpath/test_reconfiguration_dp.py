"""Segmentation: against every way of cutting the rounds."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.units import transmission_ps
from lightloom.synth.lightpath.reconfiguration_dp import Costs, predicted_ps, segment
from lightloom.synth.traffic import LaneRound

COSTS = Costs(
    alpha_ps=700,
    reconfiguration_ps=3700,
    initial_configuration_charged=True,
    lasers=4,
    bits_per_s_per_wavelength=10**12,
)


def _brute_force_ps(rounds: list[LaneRound], weights: list[int]) -> int:
    """Try every cut and every division of the lasers."""
    best = None
    for cuts in itertools.product((False, True), repeat=len(rounds) - 1):
        groups = [[rounds[0]]]
        for cut, round_ in zip(cuts, rounds[1:], strict=True):
            if cut:
                groups.append([round_])
            else:
                groups[-1].append(round_)
        times = [_group_ps(group, weights) for group in groups]
        if None not in times:
            total = sum(time for time in times if time is not None)
            best = total if best is None else min(best, total)
    assert best is not None
    return best


def _group_ps(group: list[LaneRound], weights: list[int]) -> int | None:
    lanes = sorted({lane for round_ in group for lane in round_.lanes})
    times = []
    for spread in itertools.product(range(1, COSTS.lasers + 1), repeat=len(lanes)):
        lit = sum(weights[lane] * w for lane, w in zip(lanes, spread, strict=True))
        if lit <= COSTS.lasers:
            share = dict(zip(lanes, spread, strict=True))
            times.append(sum(_round_ps(round_, share) for round_ in group))
    return COSTS.reconfiguration_ps + min(times) if times else None


def _round_ps(round_: LaneRound, share: dict[int, int]) -> int:
    rate = COSTS.bits_per_s_per_wavelength
    return COSTS.alpha_ps + max(
        transmission_ps(size, share[lane] * rate)
        for lane, size in zip(round_.lanes, round_.size_bytes, strict=True)
    )


@st.composite
def _rounds(draw: st.DrawFn) -> list[LaneRound]:
    rounds = []
    for _ in range(draw(st.integers(1, 4))):
        lanes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True))
        sizes = [draw(st.integers(1, 2000)) for _ in lanes]
        rounds.append(LaneRound(tuple(lanes), tuple(sizes)))
    return rounds


@settings(max_examples=80)
@given(_rounds())
def test_segmentation_is_optimal(rounds: list[LaneRound]) -> None:
    """No way of sharing configurations between few rounds ends sooner."""
    _check_optimal(rounds)


@pytest.mark.slow
@settings(max_examples=800)
@given(_rounds())
def test_segmentation_of_many_rounds_is_optimal(rounds: list[LaneRound]) -> None:
    """The same, for ten times as many examples."""
    _check_optimal(rounds)


def _check_optimal(rounds: list[LaneRound]) -> None:
    weights = [1, 1, 1, 1]
    found = segment(rounds, weights, COSTS)
    assert predicted_ps(found, COSTS) == _brute_force_ps(rounds, weights)
    served = [
        index
        for configuration in found
        for index in range(configuration.first_round, configuration.last_round + 1)
    ]
    assert served == list(range(len(rounds)))


def test_equal_rounds_share_one_configuration() -> None:
    """A ring is configured once, however many rounds it takes."""
    rounds = [LaneRound((0,), (100,))] * 10
    (only,) = segment(rounds, [1], COSTS)
    assert (only.first_round, only.last_round) == (0, 9)
    assert only.shares[0].wavelengths == COSTS.lasers


def test_equal_lanes_may_be_worth_a_reconfiguration() -> None:
    """Rounds that want the lasers of the same lanes otherwise are cut apart."""
    rounds = [LaneRound((0, 1, 2), (1, 1, 926)), LaneRound((0, 1, 2), (926, 1, 1))]
    assert len(segment(rounds, [1, 1, 1], COSTS)) == 2


def test_a_round_without_room_is_split() -> None:
    """Ten lanes on four lasers take three configurations, all layers served once."""
    found = segment([LaneRound(tuple(range(10)), (5,) * 10)], [1] * 10, COSTS)
    assert len(found) == 3
    served = sorted(share.lane for part in found for share in part.shares)
    assert served == list(range(10))


def test_layers_of_one_lane_may_be_split() -> None:
    """A lane of six layers on four lasers is served by two configurations."""
    found = segment([LaneRound((0,), (5,))], [6], COSTS)
    layers = [
        layer for part in found for share in part.shares for layer in share.layers
    ]
    assert len(found) == 2
    assert sorted(layers) == list(range(6))


def test_free_initial_configuration() -> None:
    """Only reconfigurations after the first count where the first is free."""
    costs = Costs(700, 3700, False, 4, 10**12)  # noqa: FBT003
    rounds = [LaneRound((0,), (0,))]
    assert predicted_ps(segment(rounds, [1], costs), costs) == 700
