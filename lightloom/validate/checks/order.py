"""Order: planes, segments and steps refer to each other soundly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.fabric import CircuitFabric
from lightloom.core.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.fabric import PacketFabric
    from lightloom.core.schedule import Schedule, StepPart


def check(
    fabric: CircuitFabric | PacketFabric, schedule: Schedule
) -> Iterator[Violation]:
    """Yield broken references and orders.

    Rules ``packet-has-circuits``, ``plane-range``, ``segment-order``,
    ``segment-exists``, ``step-order``. Linear in segments and step parts.
    """
    yield from _steps(schedule)
    if not isinstance(fabric, CircuitFabric):
        yield from _packet(schedule)
        return
    yield from _segments(fabric, schedule)
    yield from _references(fabric, schedule)


def _steps(schedule: Schedule) -> Iterator[Violation]:
    step = -1
    named: set[tuple[int | None, int | None]] = set()
    for number, part in enumerate(schedule.parts):
        if part.index == step + 1:
            step, named = part.index, set()
        elif part.index != step:
            allowed = f"{step} or {step + 1}" if step >= 0 else "0"
            message = f"step {part.index}, allowed here: {allowed}"
            yield Violation("step-order", part.index, f"step line {number}", message)
            step, named = part.index, set()
        place = (part.plane, part.segment)
        if place in named:
            message = f"step {step} names segment {part.segment} of its plane twice"
            yield Violation("step-order", step, f"step line {number}", message)
        named.add(place)


def _packet(schedule: Schedule) -> Iterator[Violation]:
    kind = schedule.fabric.get("kind")
    if schedule.segments:
        message = f"{len(schedule.segments)} segments, but a {kind} has no circuits"
        yield Violation("packet-has-circuits", None, "segments", message)
    for part in schedule.parts:
        if part.plane is not None or part.segment is not None:
            message = f"the step names a plane or segment, but a {kind} has none"
            step = part.index
            yield Violation("packet-has-circuits", step, f"step {step}", message)


def _segments(fabric: CircuitFabric, schedule: Schedule) -> Iterator[Violation]:
    expected: dict[int, int] = {}
    for segment in schedule.segments:
        name = f"segment {segment.index} of plane {segment.plane}"
        if not 0 <= segment.plane < fabric.plane_count:
            message = f"plane {segment.plane}, allowed 0 to {fabric.plane_count - 1}"
            yield Violation("plane-range", None, name, message)
        due = expected.get(segment.plane, 0)
        if segment.index != due:
            message = f"segment {segment.index}, but {due} is next on its plane"
            yield Violation("segment-order", None, name, message)
        expected[segment.plane] = segment.index + 1


def _references(fabric: CircuitFabric, schedule: Schedule) -> Iterator[Violation]:
    segments = {(segment.plane, segment.index) for segment in schedule.segments}
    left: dict[int, int] = {}  # plane -> last segment of the steps before this one
    latest: dict[int, int] = {}
    step = None
    for part in schedule.parts:
        if part.index != step:
            step, left = part.index, dict(latest)
        plane, segment = part.plane, part.segment
        if plane is None or not 0 <= plane < fabric.plane_count:
            message = f"plane {plane}, allowed 0 to {fabric.plane_count - 1}"
            yield Violation("plane-range", step, f"step {step}", message)
            continue
        if segment is None or (plane, segment) not in segments:
            yield _no_segment(part)
            continue
        if plane in left and segment < left[plane]:
            message = f"segment {segment} after a step that used {left[plane]}"
            name = f"segment {segment} of plane {plane}"
            yield Violation("segment-order", step, name, message)
        latest[plane] = max(segment, latest.get(plane, segment))


def _no_segment(part: StepPart) -> Violation:
    found = "no segment" if part.segment is None else f"segment {part.segment}"
    message = f"the step names {found}, which plane {part.plane} does not have"
    return Violation("segment-exists", part.index, f"plane {part.plane}", message)
