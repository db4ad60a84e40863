"""Replay against the event-stepping simulation, on random schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.replay import replay
from tests.oracle.event_stepping import Simulation
from tests.replay.plane_fabric import fabrics, plane_schedules

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule
    from tests.replay.plane_fabric import PlaneFabric

drawn = fabrics.flatmap(
    lambda fabric: st.tuples(st.just(fabric), plane_schedules(fabric))
)


@settings(max_examples=400, deadline=None)
@given(drawn)
def test_every_time_agrees(case: tuple[PlaneFabric, Schedule]) -> None:
    """Transfers, reconfigurations and completion are those of the simulation."""
    fabric, schedule = case
    with mock.patch("lightloom.replay.execute.load_fabric", return_value=fabric):
        timeline = replay(schedule)
    naive = Simulation(fabric, schedule).run()
    assert timeline.completion_time_ps == naive.completion_time_ps
    times = {
        (part, row): (int(start), int(end))
        for part, columns in enumerate(timeline.transfers)
        for row, (start, end) in enumerate(
            zip(columns.start_ps, columns.end_ps, strict=True)
        )
    }
    assert times == naive.times
    found = [
        (done.plane, done.segment, done.start_ps, done.end_ps)
        for done in timeline.reconfigurations
    ]
    assert sorted(found) == sorted(naive.reconfigurations)


@settings(max_examples=150, deadline=None)
@given(drawn)
def test_summaries_follow_from_the_times(case: tuple[PlaneFabric, Schedule]) -> None:
    """Steps, nodes and utilisation are sums over the transfers, plainly counted."""
    fabric, schedule = case
    with mock.patch("lightloom.replay.execute.load_fabric", return_value=fabric):
        timeline = replay(schedule)
    rows = [
        (part.index, int(src), int(dst), int(size), int(start), int(end))
        for part, times in zip(schedule.parts, timeline.transfers, strict=True)
        for src, dst, size, start, end in zip(
            part.transfers.src,
            part.transfers.dst,
            schedule.transfer_bytes(part),
            times.start_ps,
            times.end_ps,
            strict=True,
        )
    ]
    for step in timeline.steps:
        mine = [row for row in rows if row[0] == step.index]
        assert step.transfers == len(mine)
        assert step.bytes == sum(row[3] for row in mine)
        assert all(step.release_ps <= row[4] <= row[5] <= step.end_ps for row in mine)
        assert step.end_ps == max((row[5] for row in mine), default=step.release_ps)
        assert step.duration_ps == step.end_ps - step.release_ps
    for node in range(fabric.node_count):
        touched = [row for row in rows if node in row[1:3]]
        busy = {tick for row in touched for tick in range(row[4], row[5])}
        assert timeline.nodes.busy_ps[node] == len(busy)
        idle = timeline.completion_time_ps - len(busy)
        assert timeline.nodes.idle_ps[node] == idle
        sent = sum(row[3] for row in rows if row[1] == node)
        assert timeline.nodes.sent_bytes[node] == sent
        received = sum(row[3] for row in rows if row[2] == node)
        assert timeline.nodes.received_bytes[node] == received
    moved = 8 * 10**12 * sum(row[3] for row in rows)
    assert timeline.utilisation.moved == moved
    active = {node for row in rows if row[3] for node in row[1:3]}
    possible = len(active) * fabric.node_bits_per_s * timeline.completion_time_ps
    assert timeline.utilisation.possible == possible
