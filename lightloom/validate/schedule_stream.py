"""Streams: schedules too large to keep, checked segment by segment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart, Transfers
from lightloom.core.violation import Unlisted, Violation
from lightloom.instances.collectives import check_collective
from lightloom.validate.checks import circuits, transfers
from lightloom.validate.data import contributions
from lightloom.validate.data.all_to_all import Items

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Collective

Event: TypeAlias = Segment | StepPart

MOST_VIOLATIONS = 20
"""Violations of a stream that are kept; the check ends there."""


@dataclass
class StreamReport:
    """What a stream was found to be.

    `followed`: chunks whose data were followed from the first step to the last.
    `violations`: the first `MOST_VIOLATIONS`, in the order of the stream.
    """

    segments: int = 0
    steps: int = 0
    circuits: int = 0
    transfers: int = 0
    followed: int = 0
    chunks: int = 0
    violations: list[Violation] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong with what was checked."""
        return not self.violations


def check_stream(
    fabric: CircuitFabric,
    collective: Collective,
    events: Iterable[Event],
    *,
    chunks: IntArray | None = None,
) -> StreamReport:
    """Check the segments and steps of a schedule for a collective as they come.

    All circuits are checked, each by itself and for the resources they take together;
    all transfers, each by itself and for the circuit they use. The data are followed
    exactly, by contribution counts, for some chunks or all.

    `events`: a segment, then the steps in it, and so on. Parts of a step of an
    all-to-all may come one after another; the items followed must each be in one part.
    `chunks`: chunks to follow, distinct and sorted; ``None`` for all.

    Returns the report. A stream with violations is checked no further than to enough of
    them.

    Raises `InputError` if the collective makes no sense on the fabric, or it has
    several planes.

    Memory is that of the largest segment and its step, and of the transfers that the
    followed chunks take.
    """
    if fabric.plane_count != 1:
        what = "streams of one plane are checked"
        raise InputError(what, where="fabric", found=fabric.plane_count)
    check_collective(collective, fabric.node_count)
    walk = _StreamCheck(fabric, collective, chunks)
    for violation in walk.violations(events):
        walk.report.violations.append(violation)
        if len(walk.report.violations) == MOST_VIOLATIONS:
            break
    return walk.report


class _StreamCheck:
    """The check of one stream."""

    def __init__(
        self, fabric: CircuitFabric, collective: Collective, chunks: IntArray | None
    ) -> None:
        self.report = StreamReport()
        self._fabric, self._collective, self._chunks = fabric, collective, chunks
        self._bare = Schedule(fabric.table(), collective, Algorithm(""), (), ())
        self._segment: Segment | None = None
        self._shared: Circuits | None = None
        self._kept: list[StepPart] = []
        total = collective.chunk_count
        self._items: Items | None = None
        if collective.op == "all-to-all":
            total *= collective.rank_count
            self._items = Items(collective, chunks)
        self.report.chunks = total
        self.report.followed = total if chunks is None else len(chunks)

    def violations(self, events: Iterable[Event]) -> Iterator[Violation]:
        """Yield what is wrong."""
        for event in events:
            if isinstance(event, Segment):
                yield from self._enter(event)
            else:
                yield from self._step(event)
        if self.report.violations:
            return
        if self._items is not None:
            yield from self._items.finish()
            return
        kept = replace(self._bare, parts=tuple(self._kept))
        for violation in contributions.check(kept, self._collective, self._chunks):
            if not isinstance(violation, Unlisted):  # comes after far more than is kept
                yield violation

    def _enter(self, segment: Segment) -> Iterator[Violation]:
        """Check a segment, which the steps after it use."""
        report = self.report
        if (segment.plane, segment.index) != (0, report.segments):
            place = f"segment {segment.index} of plane {segment.plane}"
            message = f"expected segment {report.segments} of plane 0"
            yield Violation("segment-order", None, place, message)
        report.segments += 1
        report.circuits += len(segment.circuits)
        self._segment = segment
        self._shared = None
        inspection = circuits.inspect(self._fabric, segment)
        yield from inspection.violations
        if inspection.sound is not None:
            yield from circuits.overused(self._fabric, segment, inspection.sound)
            if segment.circuits.multicast is not None:
                rows = np.flatnonzero(inspection.sound)
                self._shared = segment.circuits.take(rows)

    def _step(self, part: StepPart) -> Iterator[Violation]:
        """Check a step, or a part of one."""
        report, segment = self.report, self._segment
        if segment is None or (part.plane, part.segment) != (0, segment.index):
            message = f"the stream is not in segment {part.segment}"
            yield Violation("segment-exists", part.index, "step", message)
            return
        if part.index not in (report.steps - 1, report.steps):
            message = f"expected step {report.steps}"
            yield Violation("step-order", part.index, f"step {part.index}", message)
        report.steps = part.index + 1
        report.transfers += len(part.transfers)
        nodes = self._fabric.node_count
        alone = replace(self._bare, parts=(part,))
        faults = list(transfers.check(nodes, alone, task_is_sound=True))
        yield from faults
        if faults:
            return
        yield from transfers.check_held(nodes, replace(alone, segments=(segment,)))
        if self._shared is not None:
            yield from circuits.check_part(nodes, part, self._shared)
        assert isinstance(part.transfers, Transfers)
        if self._items is not None:
            yield from self._items.move(part.index, part.transfers)
        elif self._chunks is None:
            self._kept.append(part)
        else:
            self._kept.append(replace(part, transfers=_about(part, self._chunks)))


def _about(part: StepPart, chunks: IntArray) -> Transfers:
    """Return the transfers of a part that move any of the chunks."""
    moved = part.transfers
    assert isinstance(moved, Transfers)
    first = np.searchsorted(chunks, moved.chunk_lo)
    rows = np.flatnonzero(first < np.searchsorted(chunks, moved.chunk_hi))
    return Transfers(
        moved.src[rows],
        moved.dst[rows],
        moved.chunk_lo[rows],
        moved.chunk_hi[rows],
        moved.op[rows],
    )
