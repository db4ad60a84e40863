"""Trace events: the slices and names of which traces are made."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias

TraceEvent: TypeAlias = dict[str, object]
"""One event of the trace-event format; ``ts`` and ``dur`` are exact decimals."""

_US_PER_PS_EXPONENT = -6


class Tracks:
    """Tracks of one owner; slices of a track are nested or apart."""

    def __init__(self) -> None:
        self.open_until: list[list[int]] = []
        self.fresh = -1
        """The track opened by the last `place`, or -1."""

    def place(self, start: int, end: int) -> int:
        """Return the first track that can draw the slice; sorted by (start, -end).

        Parameters
        ----------
        start, end
            When the slice starts and ends, in picoseconds; never earlier than the
            slice before, and of equal starts the longest comes first.
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
    """Return a complete event.

    Parameters
    ----------
    name
        What a viewer shows on the slice.
    place
        Process and track, both from 0.
    span_ps
        Start and end in picoseconds.
    args
        Numbers that a viewer shows for the selected slice.
    """
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

    Parameters
    ----------
    what
        ``process_name`` or ``thread_name``.
    pid, tid
        Number of the process, and of the track in it; 0 where a process is named.
    name
        What a viewer shows.
    """
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _us(time_ps: int) -> Decimal:
    """Return picoseconds as microseconds, exactly."""
    return Decimal(time_ps).scaleb(_US_PER_PS_EXPONENT)
