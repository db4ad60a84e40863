"""``lightloom diff``: what differs between two schedules, and where the time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.cli.console import counted, progress, write_json, write_table, write_text
from lightloom.cli.failure import about
from lightloom.cli.files import read_schedule_file
from lightloom.cli.options import (
    JSON,
    argument,
    command,
)

if TYPE_CHECKING:
    from lightloom.report.schedule_difference import ScheduleDifference


@command
def diff_command(
    *, one: str = argument("A"), other: str = argument("B"), as_json: bool = JSON
) -> None:
    """Compare two schedules: what differs, and where the time goes.

    Settings in which they differ, times, counts, and where the time goes: how long a
    node, on average, waits while its circuits are set (reconfiguration), pays the fixed
    cost of what it sends or receives (alpha), moves data, or does nothing (idle).
    `lightloom plot A B` draws both. One of them may be - for stdin.
    """
    from lightloom.report.schedule_difference import (
        difference_table,
        schedule_difference,
    )

    with progress("diff") as tell:
        schedules = [read_schedule_file(file, tell) for file in (one, other)]
        tell("replaying and comparing")
        with about(f"{one} or {other}"):
            found = schedule_difference(*schedules)
    if as_json:
        write_json(_record(one, other, found))
        return
    write_table(difference_table(found, (one, other)))
    write_text(_text(found))


def _text(found: ScheduleDifference) -> str:
    """Return from where on they differ, in words."""
    counts = {key: (a, b) for key, a, b in found.measures}
    texts = []
    for noun, alike in (("step", found.like_steps), ("segment", found.like_segments)):
        one, other = counts[f"{noun}s"]
        if alike == one == other:
            texts.append(f"{counted(alike, noun)} alike" if alike else f"no {noun}s")
        elif alike:
            texts.append(f"{noun}s alike before {noun} {alike}")
        else:
            texts.append(f"{noun}s differ from the first on")
    return "; ".join(texts)


def _record(one: str, other: str, found: ScheduleDifference) -> dict[str, object]:
    """Return a difference as its documented JSON object."""
    return {
        "files": [one, other],
        "same": found.same,
        "settings": {key: [a, b] for key, a, b in found.settings},
        "measures": {key: [a, b] for key, a, b in found.measures},
        "like_steps": found.like_steps,
        "like_segments": found.like_segments,
    }
