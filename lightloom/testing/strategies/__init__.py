"""Strategies of hypothesis for those who test a synthesiser, a reader or a checker.

Fabrics of every kind, tasks that they can serve, schedules that obey every rule, and
schedules that break exactly one. Needs the extra ``testing``.
"""

from __future__ import annotations

from lightloom.core.extras import MissingExtraError, require

require("hypothesis", "testing", "strategies of tasks and schedules")

from lightloom.testing.strategies.broken_schedules import (  # noqa: E402
    BrokenSchedule,
    break_schedule,
    broken_schedules,
    mutations,
)
from lightloom.testing.strategies.fabrics import (  # noqa: E402
    collectives,
    demands,
    fabrics,
    instances,
    known_kinds,
    tasks,
)
from lightloom.testing.strategies.schedules import (  # noqa: E402
    random_schedule,
    schedules,
)

__all__ = [
    "BrokenSchedule",
    "MissingExtraError",
    "break_schedule",
    "broken_schedules",
    "collectives",
    "demands",
    "fabrics",
    "instances",
    "known_kinds",
    "mutations",
    "random_schedule",
    "schedules",
    "tasks",
]
