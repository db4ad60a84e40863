"""Where the time of a schedule goes: waiting, fixed costs, data, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.replay.timeline import Timeline


@dataclass(frozen=True, eq=False)
class TimeShares:
    """What the last pair of each step does from release to end; shape (steps,).

    Steps follow one another without gaps, so all of it adds up to the completion time.

    `waiting_ps`: until its circuits are there. `fixed_ps`: fixed costs, at most alpha.
    `data_ps`: the rest: data on the wire, and the latency of packet fabrics.
    """

    waiting_ps: IntArray
    fixed_ps: IntArray
    data_ps: IntArray

    def record(self) -> dict[str, int]:
        """Return the sums over all steps."""
        return {
            "waiting_ps": int(self.waiting_ps.sum()),
            "fixed_ps": int(self.fixed_ps.sum()),
            "data_ps": int(self.data_ps.sum()),
        }


def time_shares(timeline: Timeline, alpha_ps: int) -> TimeShares:
    """Return where the time goes: of each step, what its last pair does.

    Of pairs that end together, the first in order of the timeline counts: where some
    have waited longer than others, another one may be as good an answer.
    """
    count, pairs = len(timeline.steps), timeline.pairs
    release = np.array([step.release_ps for step in timeline.steps], dtype=np.int64)
    end = np.array([step.end_ps for step in timeline.steps], dtype=np.int64)
    start = release.copy()
    last = np.full(count, -1, dtype=np.int64)
    rows = np.flatnonzero(pairs.end_ps == end[pairs.step]) if count else last
    last[pairs.step[rows][::-1]] = rows[::-1]
    busy = np.flatnonzero(last >= 0)
    start[busy] = pairs.start_ps[last[busy]]
    moving = np.where(last >= 0, end - start, 0)
    fixed = np.minimum(moving, alpha_ps)
    return TimeShares(end - release - moving, fixed, moving - fixed)
