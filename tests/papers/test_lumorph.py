"""Figures of the LUMORPH paper, at sizes that a test can afford."""

from __future__ import annotations

import numpy as np
import pytest

from lightloom.core.units import KIB, MIB
from lightloom.papers import figure
from lightloom.papers.claims import (
    ClaimVerdict,
    above,
    below,
    between,
    holds,
    near,
    percent_less,
    rising,
)
from lightloom.papers.lumorph.all_reduces import (
    ALGORITHMS,
    VALUES_US,
    lumorph_2_ps,
    racks,
    ring_ps,
)
from lightloom.papers.lumorph.rack import ideal_switch, lightpath, measure
from lightloom.papers.lumorph.rounds import (
    MIN_CONGESTION,
    ROUTERS,
    distinct,
    joined,
    overlap,
    pieces,
    rounds,
)
from lightloom.papers.lumorph.training import TWO, LineOfCalls


def silent(_: str) -> None:
    """Say nothing."""


def test_fig7_agrees_with_the_closed_forms() -> None:
    """Ring, and LUMORPH-2 under the paper's rule, to the picosecond."""
    found = figure("lumorph-fig7").at(sizes=(8,), buffers=(KIB, MIB)).run(silent)
    verdicts = {entry.claim: entry.verdict for entry in found.comparisons}
    claim = next(claim for claim in verdicts if claim.startswith("closed forms"))
    assert verdicts[claim] == ClaimVerdict.MATCHES
    assert len(found.data.rows) == 2 * len(ALGORITHMS)


@pytest.mark.parametrize("gpus", [4, 16])
def test_measurements_equal_the_closed_forms(gpus: int) -> None:
    """The formulas and the replays are made apart and agree exactly."""
    size = 64 * KIB
    assert measure(ideal_switch(gpus), size, "ring").completion_time_ps == ring_ps(
        gpus, size
    )
    two = measure(lightpath(gpus), size, "lumorph-2")
    assert two.every_round_ps == lumorph_2_ps(gpus, size)
    assert two.completion_time_ps <= two.every_round_ps
    assert two.reconfigurations < two.steps


@pytest.mark.parametrize("size", [4 * KIB, 4 * MIB, 256 * MIB])
def test_all_reduces_are_lines_in_their_size(size: int) -> None:
    """Between the two sizes that were replayed, and outside, within 0.1 %."""
    line = LineOfCalls(16, TWO).collective_ps("all-reduce", np.arange(2), size)
    exact = measure(lightpath(16), size, TWO).every_round_ps
    assert line == pytest.approx(exact, rel=0.001)


@pytest.mark.slow
def test_the_authors_values_follow_from_their_constants() -> None:
    """All nine values, from replays of schedules on 256 GPUs."""
    for algorithm, fabric in racks().items():
        for size, values in VALUES_US.items():
            ours = measure(fabric, size, algorithm).every_round_us
            assert ours == pytest.approx(values[algorithm], rel=0.001)


def test_rounds_are_partial_permutations_of_all_ranks() -> None:
    """Two rounds of four on 16 GPUs and back, three peers each."""
    found = rounds("lumorph-4", 16)
    assert [len(lanes) for lanes in found] == [3, 3, 3, 3]
    for lanes in found:
        for src, dst in lanes:
            assert sorted(src.tolist()) == list(range(16))
            assert sorted(dst.tolist()) == list(range(16))
    assert len(distinct([joined(lanes) for lanes in found])) == 2


def test_overlaps_are_those_of_the_grid() -> None:
    """Recursive doubling on 16 x 16 tiles: 1 2 4 8 1 2 4 8 routes an edge."""
    fabric = lightpath(256)
    found = [
        overlap(fabric, joined(lanes), MIN_CONGESTION)
        for lanes in rounds("lumorph-2", 256)[8:]
    ]
    assert sorted(found) == [1, 1, 2, 2, 4, 4, 8, 8]


@pytest.mark.parametrize("router", ROUTERS)
def test_rounds_split_until_they_fit(router: str) -> None:
    """With one waveguide a crowded round falls apart; with many it does not."""
    fabric = lightpath(16)
    src = np.arange(16, dtype=np.int64)
    requests = (src, (src + 8) % 16)
    assert pieces(fabric, requests, router, 16) == 1
    assert pieces(fabric, requests, router, 1) >= 2


def test_near_takes_two_per_cent() -> None:
    """One per cent off matches, three do not, and both say by how much."""
    assert near("a", 100.0, 101.0, "us").verdict == ClaimVerdict.MATCHES
    off = near("a", 100.0, 103.0, "us")
    assert off.verdict == ClaimVerdict.DIFFERS
    assert off.why == "+3.0 %"


def test_claims_that_hold_need_no_reason() -> None:
    """The reason is said only where a claim fails."""
    for value, why in ((2, ""), (1, "d")):
        assert holds("a", "b", "c", points=above({"x": value}, 1), why="d").why == why
    assert percent_less(25.0, 100.0) == 75.0


def test_one_point_outside_its_band_is_no_match() -> None:
    """Ends belong to a band, unless it is about more or less; one case is not four."""
    assert all(
        point.inside for point in between({1: 0.71, 2: 0.83}, least=0.71, most=0.83)
    )
    table = between({"10 us": 0.84, "100 us": 0.6}, least=0.48, most=0.83)
    told = holds("a", "b", "c", points=table, why="d")
    assert (told.verdict, told.band) == (ClaimVerdict.DIFFERS, "0.48 to 0.83: 1 of 2")
    cases = above({"one": 1.2, "two": 1.0, "three": 1.0, "four": 1.0}, 1)
    assert holds("a", "b", "c", points=cases, why="d").verdict == ClaimVerdict.DIFFERS
    curve = rising({8: 1.0, 16: 3.0, 32: 2.0, 64: 4.0})
    assert [point.inside for point in curve] == [True, False, True, True]
    assert not rising({8: 1.0, 16: 1.0})[-1].inside
    assert not below({"x": 1.0}, 1)[0].inside
    with pytest.raises(ValueError, match="no points"):
        holds("a", "b", "c", points=(), why="d")
