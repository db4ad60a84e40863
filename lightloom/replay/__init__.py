"""Executes schedules in time, in integer picoseconds; ignores what they claim.

This room is a function too: ``lightloom.replay(schedule)`` is `execute.replay`, of a
schedule or of the file at a path.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from lightloom.replay.execute import completion_time_ps, replay
from lightloom.replay.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.schedule import Schedule

__all__ = ["Timeline", "completion_time_ps", "replay"]


class _CallableModule(ModuleType):
    """A module that can be called: scripts say ``lightloom.replay(schedule)``."""

    def __call__(self, schedule: Schedule | str | Path) -> Timeline:
        """Execute a schedule, or the one in a file; see `execute.replay`."""
        from lightloom.core.schedule import Schedule
        from lightloom.formats.schedule_reader import read_schedule

        if not isinstance(schedule, Schedule):
            schedule = read_schedule(schedule)
        return replay(schedule)


sys.modules[__name__].__class__ = _CallableModule
