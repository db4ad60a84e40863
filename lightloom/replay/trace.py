"""Trace events: a replay as the slices that Perfetto shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.replay.trace_event import Tracks, trace_name, trace_slice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.schedule import Schedule
    from lightloom.replay.timeline import Timeline
    from lightloom.replay.trace_event import TraceEvent

_PLANES, _STEPS, _NODES = 1, 2, 3


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
