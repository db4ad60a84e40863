"""One device for all calls: transfers first, disjoint collectives together."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings

from lightloom.core.errors import InputError
from lightloom.core.task import Demand
from lightloom.replay.workload import CallQueue, Launch, replay_iteration
from tests.examples.iterations import iteration, iterations, spans

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration

FREE = Launch(0, 0)


@dataclass(frozen=True)
class Plain:
    """A byte of a call lasts a picosecond; collectives are remembered."""

    asked: list[Demand] = field(default_factory=list)

    def transfers_ps(self, demand: Demand) -> int:
        """Return the bytes of all transfers."""
        self.asked.append(demand)
        return sum(demand.bytes)

    def collective_ps(self, op: str, devices: IntArray, size_bytes: int) -> int:
        """Return the bytes of the buffer."""
        assert op == "all-reduce"
        assert len(devices)
        return size_bytes


def test_transfers_go_before_collectives() -> None:
    """Whatever waited longer; what is served is not interrupted."""
    made = iteration(
        4,
        [(0, 0), (0, 5), (1, 0), (2, 0)],
        # The ring of 10 is issued at 0 and served; at 5 a transfer and, from op 1,
        # another ring are issued, at 0 a second ring on the same devices.
        [(0, 4, 0), (0, 5, 0), (1, 2, 7), (1, 3, 2)],
        [(10, [0, 1]), (4, [0, 1])],
    )
    timeline = replay_iteration(made, CallQueue(Plain()), FREE)
    assert spans(timeline.collectives) == [(0, 10), (19, 23)]
    assert spans(timeline.transfers)[2:] == [(10, 17), (17, 19)]


def test_transfers_of_a_call_are_served_together_once_all_are_there() -> None:
    """The call is issued with the last of its data, and costs are asked of all."""
    made = iteration(
        3,
        [(0, 2), (1, 6), (2, 0), (2, 0)],
        [(0, 2, 3), (1, 2, 4), (0, 3, 1)],
        call=[5, 5, -1],
    )
    costs = Plain()
    timeline = replay_iteration(made, CallQueue(costs), FREE)
    assert spans(timeline.transfers) == [(6, 13), (6, 13), (2, 3)]
    assert costs.asked == [
        Demand.from_rows([(0, 2, 1)]),
        Demand.from_rows([(0, 2, 3), (1, 2, 4)]),
    ]


GROUPS = [(5, [0, 1]), (9, [1, 2]), (4, [3]), (7, [0, 3]), (9, [0])]


def test_collectives_that_share_nothing_go_together() -> None:
    """Longest first: 1, 4 and 2 are disjoint; then 3, which shares with 0; then 0."""
    links = [(0, row, 0) for row in range(3, 8)]
    made = iteration(4, [(0, 0), (2, 35), (3, 0)], [(1, 2, 1), *links], GROUPS)
    timeline = replay_iteration(made, CallQueue(Plain()), FREE)
    served = [(16, 21), (0, 9), (0, 4), (9, 16), (0, 9)]
    assert spans(timeline.collectives) == served


@given(iterations())
@settings(max_examples=100, deadline=None)
def test_a_queue_serves_one_thing_at_a_time(made: Iteration) -> None:
    """No two calls overlap, and collectives that do share no device."""
    timeline = replay_iteration(made, CallQueue(Plain()), FREE)
    moves = np.flatnonzero(made.is_transfer)
    served = sorted(
        (int(timeline.transfers.start_ps[row]), int(timeline.transfers.end_ps[row]))
        for row in moves
    )
    assert all(one[1] <= other[0] for one, other in pairwise(served))
    rings = spans(timeline.collectives)
    for row, (start, end) in enumerate(rings):
        for begin, until in served:
            assert end <= begin or until <= start
        for other in range(row):
            if rings[other][0] < end and start < rings[other][1]:
                mine = set(made.collectives.devices[row].tolist())
                assert mine.isdisjoint(made.collectives.devices[other].tolist())


def test_a_call_that_waits_for_itself_is_an_error() -> None:
    """Its second transfer needs what comes of the first."""
    made = iteration(2, [(0, 0), (1, 0), (0, 1)], [(0, 1, 1), (1, 2, 1)], call=[0, 0])
    with pytest.raises(InputError, match="the call of transfer 0 -> 1 of 1 bytes has"):
        replay_iteration(made, CallQueue(Plain()), FREE)
