"""Streams: a stream is refused for what its file would be refused for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op, Schedule, Segment, StepPart, Transfers
from lightloom.core.task import Collective
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.synth.ramp.schedules import ways
from lightloom.validate import verify
from lightloom.validate.schedule_stream import MOST_VIOLATIONS, check_stream

if TYPE_CHECKING:
    from collections.abc import Callable

FABRIC = Ramp(groups=2, racks=2, nodes_per_rack=4)
Event = Segment | StepPart


def _whole(op: str) -> Schedule:
    nodes = tuple(range(16))
    (way, *_) = ways(FABRIC, Collective(op, nodes, 160_000_000))
    return way.schedule(0)


def _events(schedule: Schedule) -> list[Event]:
    """Return segments and steps as they come in a file."""
    events: list[Event] = []
    entered = -1
    for part in schedule.parts:
        assert part.segment is not None
        if part.segment > entered:
            entered = part.segment
            events.append(schedule.segments[entered])
        events.append(part)
    return events


def _changed(schedule: Schedule, row: int, **columns: int) -> Schedule:
    """Return the schedule with values of one transfer of its last step changed."""
    part = schedule.parts[-1]
    moved = part.transfers
    assert isinstance(moved, Transfers)
    new = {}
    for name, value in columns.items():
        column = getattr(moved, name).copy()
        column[row] = value
        new[name] = column
    last = replace(part, transfers=replace(moved, **new))
    return replace(schedule, parts=(*schedule.parts[:-1], last))


def _without(schedule: Schedule, row: int) -> Schedule:
    part = schedule.parts[-1]
    moved = part.transfers
    assert isinstance(moved, Transfers)
    names = ("src", "dst", "chunk_lo", "chunk_hi", "op")
    kept = {name: np.delete(getattr(moved, name), row) for name in names}
    last = replace(part, transfers=Transfers(**kept))
    return replace(schedule, parts=(*schedule.parts[:-1], last))


def _crossed(schedule: Schedule) -> Schedule:
    """Return the schedule with all of its last segment on one transceiver."""
    last = schedule.segments[-1]
    used = np.zeros(len(last.circuits), dtype=np.int64)
    crossed = replace(last, circuits=replace(last.circuits, transceiver=used))
    return replace(schedule, segments=(*schedule.segments[:-1], crossed))


OPS = ("all-gather", "all-to-all", "reduce-scatter", "broadcast")
BREAKS: dict[str, Callable[[Schedule], Schedule]] = {
    "lost transfer": lambda made: _without(made, 3),
    "range of another": lambda made: _changed(made, 3, chunk_lo=0, chunk_hi=1),
    "no chunks": lambda made: _changed(made, 3, chunk_hi=0),
    "outside": lambda made: _changed(made, 3, dst=16),
    "to itself": lambda made: _changed(
        made, 3, dst=int(made.parts[-1].transfers.src[3])
    ),
    "unheld circuit": lambda made: _changed(made, 3, dst=15, src=14),
    "one transceiver": _crossed,
}


@pytest.mark.parametrize("op", OPS)
def test_whole_streams_are_valid(op: str) -> None:
    """What the file's counts are, the report's are."""
    schedule = _whole(op)
    assert isinstance(schedule.task, Collective)
    report = check_stream(FABRIC, schedule.task, _events(schedule))
    assert report.valid
    assert report.segments == len(schedule.segments)
    assert report.steps == schedule.step_count
    assert report.circuits == schedule.circuit_count
    assert report.transfers == schedule.transfer_count


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", BREAKS)
def test_broken_streams_are_refused(op: str, name: str) -> None:
    """A rule that the stream's check reports is one that the file's breaks."""
    broken = BREAKS[name](_whole(op))
    verdict = verify(broken)
    assert not verdict.valid
    assert isinstance(broken.task, Collective)
    report = check_stream(FABRIC, broken.task, _events(broken))
    assert not report.valid
    found = {violation.rule for violation in report.violations}
    assert found <= {violation.rule for violation in verdict.violations}


def test_reductions_that_copy_are_refused() -> None:
    """Contributions are counted, not only chunks."""
    whole = _whole("reduce-scatter")
    copied = _changed(whole, 0, op=int(Op.COPY))
    assert isinstance(whole.task, Collective)
    report = check_stream(FABRIC, whole.task, _events(copied))
    assert {found.rule for found in report.violations} == {"post-condition-missing"}


def test_only_followed_chunks_are_followed() -> None:
    """A lost chunk is seen if it is followed, and not if another one is."""
    broken = _without(_whole("all-gather"), 3)
    lost = int(_whole("all-gather").parts[-1].transfers.chunk_lo[3])  # type: ignore[union-attr]
    assert isinstance(broken.task, Collective)
    for chunk, valid in ((lost, False), (lost - 1, True)):
        chunks = np.array([chunk], dtype=np.int64)
        report = check_stream(FABRIC, broken.task, _events(broken), chunks=chunks)
        assert report.valid == valid
        assert report.followed == 1


def test_order_of_events() -> None:
    """Segments and steps count from 0, and a step is in the segment before it."""
    schedule = _whole("all-gather")
    assert isinstance(schedule.task, Collective)
    events = _events(schedule)
    cases = {
        "segment-exists": events[1:],
        "segment-order": events[2:],
        "step-order": [events[0], events[2], events[3], *events[4:]],
    }
    for rule, wrong in cases.items():
        report = check_stream(FABRIC, schedule.task, wrong)
        assert rule in {found.rule for found in report.violations}, rule


def test_a_hopeless_stream_is_given_up() -> None:
    """Checking stops after twenty violations."""
    schedule = _whole("all-to-all")
    assert isinstance(schedule.task, Collective)
    part = max(schedule.parts, key=lambda one: len(one.transfers))
    far = replace(part.transfers, dst=part.transfers.dst + 16)
    assert len(far) >= MOST_VIOLATIONS
    events = [schedule.segments[0], replace(part, index=0, segment=0, transfers=far)]
    report = check_stream(FABRIC, schedule.task, events)
    assert len(report.violations) == MOST_VIOLATIONS


def test_streams_have_one_plane() -> None:
    """Several planes have no one order of segments."""
    fabric = Ocs(nodes=4, switches=2, bits_per_second_per_node=10**12)
    with pytest.raises(InputError, match="one plane"):
        check_stream(fabric, Collective("all-gather", (0, 1), 2, 2), [])
