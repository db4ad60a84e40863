"""Executes schedules in time, in integer picoseconds; ignores what they claim."""

from __future__ import annotations

from lightloom.replay.execute import completion_time_ps, replay
from lightloom.replay.timeline import Timeline

__all__ = ["Timeline", "completion_time_ps", "replay"]
