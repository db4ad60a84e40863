"""Footer: what a schedule claims of itself, against what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.schedule import Footer, Schedule


def check(schedule: Schedule, footer: Footer) -> Iterator[Violation]:
    """Yield counts that are not those of the schedule: rule ``footer-counts``."""
    counts = (
        ("segments", footer.segments, len(schedule.segments)),
        ("steps", footer.steps, schedule.step_count),
        ("circuits", footer.circuits, schedule.circuit_count),
        ("transfers", footer.transfers, schedule.transfer_count),
    )
    for name, claimed, true in counts:
        if claimed != true:
            message = f"the footer says {claimed} {name}, the file has {true}"
            yield Violation(
                "footer-counts", None, f"footer.{name}", message, claimed - true
            )


def check_time(footer: Footer, completion_time_ps: int) -> Iterator[Violation]:
    """Yield a completion time that is not replay's: rule ``footer-time``."""
    claimed = footer.completion_time_ps
    if claimed != completion_time_ps:
        message = f"the footer says {claimed} ps, replay {completion_time_ps} ps"
        where = "footer.completion_time_ps"
        excess = claimed - completion_time_ps
        yield Violation("footer-time", None, where, message, excess)
