"""Trace events: a replay as the slices that Perfetto shows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.schedule import Schedule
    from lightloom.replay.timeline import Timeline

TraceEvent: TypeAlias = dict[str, object]
"""One event of the trace-event format; ``ts`` and ``dur`` are exact decimals."""

_PLANES, _STEPS, _NODES = 1, 2, 3
_US_PER_PS_EXPONENT = -6


def trace_events(schedule: Schedule, timeline: Timeline) -> list[TraceEvent]:
    """Return a replay as events of the Chrome trace-event format.

    Three processes: the planes with their reconfigurations, the steps, and the
    nodes with what they send, one slice for each pair, segment and step. A node
    has one track; slices that overlap without one holding the other, which the
    format cannot draw on one track, go to further tracks of that node. Events are
    in a fixed order; times are microseconds with six decimals.
    """
    events: list[TraceEvent] = []
    if timeline.reconfigurations:
        events.append(_name("process_name", _PLANES, 0, "planes"))
        planes = sorted({done.plane for done in timeline.reconfigurations})
        events.extend(
            _name("thread_name", _PLANES, plane, f"plane {plane}") for plane in planes
        )
    events.extend(
        _slice(
            f"reconfigure to segment {done.segment}",
            (_PLANES, done.plane),
            (done.start_ps, done.end_ps),
            {"segment": done.segment},
        )
        for done in timeline.reconfigurations
    )
    algorithm = schedule.algorithm.name
    events.append(_name("process_name", _STEPS, 0, f"steps ({algorithm})"))
    events.append(_name("thread_name", _STEPS, 0, "steps"))
    events.extend(
        _slice(
            f"step {step.index}",
            (_STEPS, 0),
            (step.release_ps, step.end_ps),
            {"transfers": step.transfers, "bytes": step.bytes},
        )
        for step in timeline.steps
    )
    events.append(_name("process_name", _NODES, 0, "nodes (sends)"))
    events.extend(_sends(timeline))
    return events


def _sends(timeline: Timeline) -> Iterator[TraceEvent]:
    """Yield the slices of each node in turn, its tracks named first."""
    pairs = timeline.pairs
    order = np.lexsort((pairs.dst, -pairs.end_ps, pairs.start_ps, pairs.src))
    table = np.stack(
        [
            pairs.src,
            pairs.dst,
            pairs.start_ps,
            pairs.end_ps,
            pairs.bytes,
            pairs.chunks,
            pairs.bits_per_s,
        ],
        axis=1,
    )[order].tolist()
    node, tracks, next_tid = -1, _Tracks(), 0
    for src, dst, start, end, size, chunks, rate in table:
        if src != node:
            next_tid += len(tracks.open_until)
            node, tracks = src, _Tracks()
        track = tracks.place(start, end)
        if track == tracks.fresh:
            name = f"node {src}" + (f" ({track + 1})" if track else "")
            yield _name("thread_name", _NODES, next_tid + track, name)
        args = {"bytes": size}
        if chunks:
            args["chunks"] = chunks
        if rate:
            args["bits_per_s"] = rate
        place = (_NODES, next_tid + track)
        yield _slice(f"{src} -> {dst}", place, (start, end), args)


class _Tracks:
    """Tracks of one node; slices of a track are nested or apart."""

    def __init__(self) -> None:
        self.open_until: list[list[int]] = []
        self.fresh = -1
        """The track opened by the last `place`, or -1."""

    def place(self, start: int, end: int) -> int:
        """Return the first track that can draw the slice; sorted by (start, -end)."""
        self.fresh = -1
        for track, stack in enumerate(self.open_until):
            while stack and stack[-1] <= start:
                stack.pop()
            if not stack or end <= stack[-1]:
                stack.append(end)
                return track
        self.open_until.append([end])
        self.fresh = len(self.open_until) - 1
        return self.fresh


def _slice(
    name: str, place: tuple[int, int], span_ps: tuple[int, int], args: dict[str, int]
) -> TraceEvent:
    """Return a complete event."""
    start_ps, end_ps = span_ps
    return {
        "name": name,
        "ph": "X",
        "pid": place[0],
        "tid": place[1],
        "ts": _us(start_ps),
        "dur": _us(end_ps - start_ps),
        "args": args,
    }


def _name(what: str, pid: int, tid: int, name: str) -> TraceEvent:
    """Return the event that names a process or a track."""
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _us(time_ps: int) -> Decimal:
    """Return picoseconds as microseconds, exactly."""
    return Decimal(time_ps).scaleb(_US_PER_PS_EXPONENT)
