"""Trace events: a replay as the slices that Perfetto shows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.iteration import Iteration
    from lightloom.core.schedule import Schedule
    from lightloom.replay.timeline import Timeline
    from lightloom.replay.workload.execute import IterationTimeline


_PLANES, _STEPS, _NODES = 1, 2, 3
"""Processes of the trace of a schedule."""


def trace_events(schedule: Schedule, timeline: Timeline) -> list[TraceEvent]:
    """Return a replay as events of the Chrome trace-event format.

    Three processes: the planes with their reconfigurations, the steps, and the
    nodes with what they send, one slice for each pair, segment and step. A node
    has one track; slices that overlap without one holding the other, which the
    format cannot draw on one track, go to further tracks of that node. Events are
    in a fixed order; times are microseconds with six decimals.

    Parameters
    ----------
    schedule
        What was replayed; its segments name the circuits of a pair.
    timeline
        What `replay` returned for it.
    """
    events: list[TraceEvent] = []
    if timeline.reconfigurations:
        events.append(trace_name("process_name", _PLANES, 0, "planes"))
        planes = sorted({done.plane for done in timeline.reconfigurations})
        events.extend(
            trace_name("thread_name", _PLANES, plane, f"plane {plane}")
            for plane in planes
        )
    events.extend(
        trace_slice(
            f"reconfigure to segment {done.segment}",
            (_PLANES, done.plane),
            (done.start_ps, done.end_ps),
            {"segment": done.segment},
        )
        for done in timeline.reconfigurations
    )
    algorithm = schedule.algorithm.name
    events.append(trace_name("process_name", _STEPS, 0, f"steps ({algorithm})"))
    events.append(trace_name("thread_name", _STEPS, 0, "steps"))
    events.extend(
        trace_slice(
            f"step {step.index}",
            (_STEPS, 0),
            (step.release_ps, step.end_ps),
            {"transfers": step.transfers, "bytes": step.bytes},
        )
        for step in timeline.steps
    )
    events.append(trace_name("process_name", _NODES, 0, "nodes (sends)"))
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
    node, tracks, next_tid = -1, Tracks(), 0
    for src, dst, start, end, size, chunks, rate in table:
        if src != node:
            next_tid += len(tracks.open_until)
            node, tracks = src, Tracks()
        track = tracks.place(start, end)
        if track == tracks.fresh:
            name = f"node {src}" + (f" ({track + 1})" if track else "")
            yield trace_name("thread_name", _NODES, next_tid + track, name)
        args = {"bytes": size}
        if chunks:
            args["chunks"] = chunks
        if rate:
            args["bits_per_s"] = rate
        place = (_NODES, next_tid + track)
        yield trace_slice(f"{src} -> {dst}", place, (start, end), args)


TraceEvent: TypeAlias = dict[str, object]
"""One event of the trace-event format; ``ts`` and ``dur`` are exact decimals."""

_US_PER_PS_EXPONENT = -6
"""A picosecond is 10**-6 microseconds."""


class Tracks:
    """Tracks of one owner; slices of a track are nested or apart."""

    def __init__(self) -> None:
        self.open_until: list[list[int]] = []
        self.fresh = -1
        """The track opened by the last `place`, or -1."""

    def place(self, start: int, end: int) -> int:
        """Return the first track that can draw a slice from start to end.

        Slices come in order of start, and of equal starts the longest first.
        """
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


def trace_slice(
    name: str, place: tuple[int, int], span_ps: tuple[int, int], args: dict[str, int]
) -> TraceEvent:
    """Return a complete event: its process and track, start and end, and numbers."""
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


def trace_name(what: str, pid: int, tid: int, name: str) -> TraceEvent:
    """Return the event that names a process or a track.

    `what`: ``process_name`` or ``thread_name``. `tid`: 0 where a process is named.
    """
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _us(time_ps: int) -> Decimal:
    """Return picoseconds as microseconds, exactly."""
    return Decimal(time_ps).scaleb(_US_PER_PS_EXPONENT)


_DEVICES, _TRAFFIC = 2, 3
"""Processes of the trace of an iteration, after the planes."""

_Slice: TypeAlias = tuple[int, int, int, str, dict[str, int]]
"""Owner, start, minus the end, name, what the slice says."""


def iteration_trace(
    iteration: Iteration, timeline: IterationTimeline
) -> list[TraceEvent]:
    """Return a replayed iteration as events of the Chrome trace-event format.

    Three processes: the planes with their reconfigurations, the devices with the
    operations they run, and the traffic: what each device sends, and the collectives
    that it takes part in. Slices that overlap go to further tracks of their device.
    Operations of 0 ps are left out. Events are in a fixed order; times are
    microseconds with six decimals. `lightloom.formats.json_file.write_trace` writes
    them to a file.

    Parameters
    ----------
    iteration
        What was replayed.
    timeline
        What `replay_iteration` returned for it.
    """
    events: list[TraceEvent] = []
    planes = [
        (done.plane, done.start_ps, -done.end_ps, "reconfigure", {"set": done.segment})
        for done in timeline.reconfigurations
    ]
    if planes:
        events += _process("planes", _PLANES, "plane", planes)
    events += _process("devices", _DEVICES, "device", _runs(iteration, timeline))
    events += _process("traffic", _TRAFFIC, "device", _traffic(iteration, timeline))
    return events


def _runs(iteration: Iteration, timeline: IterationTimeline) -> list[_Slice]:
    rows, spans = iteration.operations, timeline.operations
    return [
        (device, start, -end, rows.name[row], {"operation": row})
        for row, (device, start, end, lasts) in enumerate(
            zip(
                rows.device.tolist(),
                spans.start_ps.tolist(),
                spans.end_ps.tolist(),
                rows.duration_ps.tolist(),
                strict=True,
            )
        )
        if lasts
    ]


def _traffic(iteration: Iteration, timeline: IterationTimeline) -> list[_Slice]:
    links, device = iteration.dependencies, iteration.operations.device
    moves = np.flatnonzero(iteration.is_transfer)
    columns = (
        device[links.src[moves]],
        device[links.dst[moves]],
        timeline.transfers.start_ps[moves],
        timeline.transfers.end_ps[moves],
        links.bytes[moves],
    )
    slices = [
        (src, start, -end, f"{src} -> {dst}", {"bytes": size})
        for src, dst, start, end, size in np.stack(columns, axis=1).tolist()
    ]
    rows, spans = iteration.collectives, timeline.collectives
    for row, op in enumerate(rows.op):
        said = {"bytes": int(rows.bytes[row]), "collective": row}
        start, end = int(spans.start_ps[row]), int(spans.end_ps[row])
        slices += [(one, start, -end, op, said) for one in rows.devices[row].tolist()]
    return slices


def _process(
    name: str, process: int, owner_name: str, slices: list[_Slice]
) -> Iterator[TraceEvent]:
    """Yield a process: its name, then the slices of each owner, tracks named first."""
    yield trace_name("process_name", process, 0, name)
    slices.sort(key=lambda each: each[:4])
    owner, tracks, next_track = -1, Tracks(), 0
    for one, start, minus_end, label, said in slices:
        if one != owner:
            next_track += len(tracks.open_until)
            owner, tracks = one, Tracks()
        track = tracks.place(start, -minus_end)
        if track == tracks.fresh:
            more = f" ({track + 1})" if track else ""
            title = f"{owner_name} {one}{more}"
            yield trace_name("thread_name", process, next_track + track, title)
        place = (process, next_track + track)
        yield trace_slice(label, place, (start, -minus_end), said)
