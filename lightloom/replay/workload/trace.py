"""Trace events: the replay of an iteration as the slices that Perfetto shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lightloom.replay.trace_event import Tracks, trace_name, trace_slice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.iteration import Iteration
    from lightloom.replay.trace_event import TraceEvent
    from lightloom.replay.workload.timeline import IterationTimeline

_PLANES, _DEVICES, _TRAFFIC = 1, 2, 3

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
    microseconds with six decimals. `lightloom.formats.perfetto.write_trace` writes
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
