"""The time of each node, split exactly: reconfiguration, alpha, data, idle."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.fabric import CircuitFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.replay import replay
from lightloom.replay import time_shares as room
from lightloom.replay.time_shares import PARTS, percentages, time_shares
from tests.programs.lowered import schedule_of
from tests.report.turns import in_turns

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from lightloom.replay import Timeline

NAMES = (
    ("lightpath-8/all-reduce-64MiB", "ring"),
    ("lightpath-8/all-reduce-64MiB", "lumorph-2"),
    ("ideal-switch-8/all-to-all-1MiB", "direct"),
    ("sipac-16/all-to-all-1MiB", "auto"),
    ("ring-2d-16/all-reduce-1MiB", "auto"),
    ("torus-16/broadcast-1MiB", "auto"),
    ("ocs-16/all-reduce-1MiB", "auto"),
    ("ocs-8/groups-3MB", "auto"),
    ("ring-8/groups-3MB", "auto"),
)


def by_the_picosecond(
    schedule: Schedule, timeline: Timeline, node: int, at_ps: int
) -> str:
    """Return what a node does at an instant, straight from the definition."""
    fabric = load_fabric(schedule.fabric)
    pairs = timeline.pairs
    mine = (pairs.src == node) | (pairs.dst == node)
    mine &= (pairs.start_ps <= at_ps) & (at_ps < pairs.end_ps)
    if (mine & (pairs.start_ps + fabric.alpha_ps <= at_ps)).any():
        return "data"
    if mine.any():
        return "alpha"
    if isinstance(fabric, CircuitFabric):
        assert fabric.dark_while_reconfiguring == "plane"
    for change in timeline.reconfigurations:
        (circuits,) = (
            segment.circuits
            for segment in schedule.segments
            if (segment.plane, segment.index) == (change.plane, change.segment)
        )
        ends = {*circuits.src.tolist(), *circuits.dst.tolist()}
        if node in ends and change.start_ps <= at_ps < change.end_ps:
            return "reconfiguration"
    return "idle"


@pytest.mark.parametrize(("name", "algorithm"), NAMES)
@pytest.mark.parametrize("owners", [1, 2**18])
def test_time_shares_add_up(
    name: str, algorithm: str, owners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the completion time of each node, and the duration of each step."""
    monkeypatch.setattr(room, "_MOST_OWNERS", owners)
    schedule = schedule_of(name, algorithm)
    timeline = replay(schedule)
    shares, nodes = time_shares(schedule, timeline), len(timeline.nodes.busy_ps)
    assert (shares.node_ps >= 0).all()
    assert (shares.node_ps.sum(axis=1) == timeline.completion_time_ps).all()
    busy = shares.node_ps[:, [PARTS.index("alpha"), PARTS.index("data")]]
    assert (busy.sum(axis=1) == timeline.nodes.busy_ps).all()
    assert [sum(parts) for parts in shares.step_ps] == [
        nodes * step.duration_ps for step in timeline.steps
    ]
    assert list(shares.total_ps().values()) == shares.node_ps.sum(axis=0).tolist()


@pytest.mark.parametrize("name", ["ocs-8/groups-3MB", "ring-8/groups-3MB"])
def test_time_shares_are_what_nodes_do(name: str) -> None:
    """Of instants between all ends of intervals, each is in the part it should be."""
    schedule = schedule_of(name)
    timeline, alpha = replay(schedule), load_fabric(schedule.fabric).alpha_ps
    pairs = timeline.pairs
    cuts = {0, timeline.completion_time_ps, *(pairs.start_ps + alpha).tolist()}
    cuts |= {*pairs.start_ps.tolist(), *pairs.end_ps.tolist()}
    for change in timeline.reconfigurations:
        cuts |= {change.start_ps, change.end_ps}
    times = sorted(cut for cut in cuts if cut <= timeline.completion_time_ps)
    for node in (0, 5):
        lengths = dict.fromkeys(PARTS, 0)
        for start, end in itertools.pairwise(times):
            lengths[by_the_picosecond(schedule, timeline, node, start)] += end - start
        assert [*lengths.values()] == time_shares(schedule, timeline).node_ps[
            node
        ].tolist()


def test_a_demand_in_turns_sends_nearly_all_the_time() -> None:
    """What waits for the second configuration sends in the first one."""
    schedule = in_turns(50_000_000)
    timeline = replay(schedule)
    total = time_shares(schedule, timeline).total_ps()
    percent = dict(zip(PARTS, percentages([*total.values()]), strict=True))
    assert sum(percent.values()) == 100
    assert percent["data"] > 80
    assert percent["reconfiguration"] < 10


@pytest.mark.parametrize(("dark", "paid"), [("plane", 2), ("changed-circuits", 1)])
def test_circuits_that_stay_lit_do_not_wait(dark: str, paid: int) -> None:
    """A second segment with the same circuits costs nothing where these stay lit."""
    schedule = schedule_of("lightpath-8/all-reduce-64MiB", "ring")
    (segment,) = schedule.segments
    schedule = replace(
        schedule,
        fabric={**schedule.fabric, "dark_while_reconfiguring": dark},
        segments=(segment, replace(segment, index=1)),
        parts=tuple(
            replace(part, segment=int(part.index > 0)) for part in schedule.parts
        ),
    )
    total = time_shares(schedule, replay(schedule)).total_ps()
    delay_ps = load_fabric(schedule.fabric).reconfiguration_ps
    assert total["reconfiguration"] == paid * delay_ps * 8


def test_sums_do_not_wrap() -> None:
    """Nodes times picoseconds are more than 63 bits hold."""
    table = np.full((1, 4, 4), 2**62 + 7, dtype=np.int64)
    assert room.exact_sums(table) == [(2**64 + 28,) * 4]


@given(st.lists(st.integers(0, 2**70), min_size=1, max_size=6))
def test_percent_add_up(parts: list[int]) -> None:
    """To 100, and none is a whole percent away from what it is."""
    percent = percentages(parts)
    assert sum(percent) == (100 if sum(parts) else 0)
    for part, share in zip(parts, percent, strict=True):
        assert abs(100 * part - share * sum(parts)) <= sum(parts)
