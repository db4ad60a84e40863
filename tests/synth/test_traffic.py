"""Traffic as lanes: equal and smaller partial permutations share one lane."""

from __future__ import annotations

import numpy as np
import pytest

from lightloom.core.schedule import FluidTransfers
from lightloom.synth.traffic import TrafficRound, lane_traffic


def _round(*rows: tuple[int, int, int, int]) -> TrafficRound:
    """Return a round of (src, dst, bytes, port) rows."""
    src, dst, size_bytes, port = np.array(rows, dtype=np.int64).T
    return TrafficRound(FluidTransfers(src, dst, size_bytes), size_bytes, port)


def test_equal_ports_of_different_rounds_are_one_lane() -> None:
    """The same pairs in two rounds need the same circuits."""
    traffic = lane_traffic(
        [_round((0, 1, 5, 0), (1, 0, 7, 0)), _round((0, 1, 3, 2), (1, 0, 2, 2))]
    )
    assert len(traffic.lanes) == 1
    assert [round_.size_bytes for round_ in traffic.rounds] == [(7,), (3,)]


def test_rows_of_one_pair_add_up() -> None:
    """Several ranges of one pair go one after another."""
    traffic = lane_traffic([_round((0, 1, 5, 0), (0, 1, 6, 0), (2, 3, 7, 0))])
    assert traffic.rounds[0].size_bytes == (11,)


def test_a_lane_within_a_larger_one_is_absorbed() -> None:
    """Rounds that drain a pipeline keep the circuits of the full ones."""
    full = _round((0, 1, 5, 0), (1, 2, 5, 0), (2, 3, 5, 0))
    drained = _round((2, 3, 4, 0))
    turned = _round((0, 3, 4, 0))
    traffic = lane_traffic([drained, full, turned])
    assert [round_.lanes for round_ in traffic.rounds] == [(1,), (1,), (2,)]
    assert traffic.lane_of_row[0].tolist() == [1]


def test_pairs_of_a_port_that_never_conflict_are_one_lane() -> None:
    """A tree's rounds use different pairs, but one permutation holds them all."""
    traffic = lane_traffic([_round((0, 1, 5, 0)), _round((1, 2, 3, 0), (3, 0, 4, 0))])
    assert len(traffic.lanes) == 1
    assert traffic.lanes[0].src.tolist() == [0, 1, 3]
    assert traffic.lanes[0].dst.tolist() == [1, 2, 0]
    assert [round_.size_bytes for round_ in traffic.rounds] == [(5,), (4,)]


def test_a_lane_that_only_overlaps_is_kept() -> None:
    """Sharing a pair is not being contained."""
    traffic = lane_traffic(
        [
            _round((0, 1, 5, 0), (1, 2, 5, 0), (3, 4, 1, 0)),
            _round((0, 1, 5, 0), (1, 3, 5, 0)),
        ]
    )
    assert [round_.lanes for round_ in traffic.rounds] == [(0,), (1,)]


def test_a_port_that_is_no_permutation_is_refused() -> None:
    """Two destinations of one source cannot share a wavelength."""
    with pytest.raises(ValueError, match="partial permutation"):
        lane_traffic([_round((0, 1, 5, 0), (0, 2, 5, 0))])
    with pytest.raises(ValueError, match="partial permutation"):
        lane_traffic([_round((0, 2, 5, 0), (1, 2, 5, 0))])
